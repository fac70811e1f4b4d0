"""Where entries are kept: one protocol, and the JSONL folder behind it."""
