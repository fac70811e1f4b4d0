"""The memory MCP server: facts and episodes of one person, found again by what they say."""
