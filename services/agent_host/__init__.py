"""The agent host: runs turns over MCP servers and leaves a receipt for each."""
