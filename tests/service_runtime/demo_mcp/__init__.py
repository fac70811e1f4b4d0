"""A small real MCP server for the tests of the runtime; it has a store, tools of every kind, a resource, a prompt."""
