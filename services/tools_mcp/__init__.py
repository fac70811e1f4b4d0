"""The tool servers: calendar, notes and web search, each its own MCP server process."""
