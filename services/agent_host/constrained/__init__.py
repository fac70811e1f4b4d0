"""Model calls under a typed contract, one L12 entry each."""
