"""Cases whose outcome is certain: run on every change, all must pass."""
