"""A conversation at a terminal: Markdown that streams, a spinner, line editing, history and completion."""
