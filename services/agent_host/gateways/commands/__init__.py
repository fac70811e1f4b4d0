"""The slash commands of a conversation: one table, `table.COMMANDS`, and a module of handlers for each kind."""
