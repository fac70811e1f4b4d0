"""Model providers behind one seam (`protocol.Provider`)."""
