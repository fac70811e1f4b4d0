"""Process plumbing shared by every service: home folder, settings, logs, the MCP server runner. No domain."""
