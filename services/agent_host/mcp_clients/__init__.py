"""The host as MCP client `prometheus-agent`, behind one seam (`protocol.ToolBox`)."""
