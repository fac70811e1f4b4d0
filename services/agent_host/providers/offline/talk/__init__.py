"""What needs no tool: small talk, help, arithmetic, the date and the time."""
