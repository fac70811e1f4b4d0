"""Meaning as vectors: one protocol, one module per way to make them; none is needed to search."""
