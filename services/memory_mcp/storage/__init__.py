"""Where memories are kept: one protocol, one module per database."""
