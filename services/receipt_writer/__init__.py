"""The receipt ledger: one process that signs entries, chains them and makes them durable.

`format/` is the pure part, which decides what an entry is; everything around it moves those bytes.
"""
