"""What the writer remembers of a chain beside its bytes: head, tree, idempotency keys, times and filters.

All of it is a function of the chain's lines. It is held in memory, in flat columns, and may be kept on disk as rows,
which spare the next start the parsing (docs/adr/0008).
"""

from receipt_writer.index.chain_index import ChainIndex, Filter
from receipt_writer.index.rows import BLOCK_ENTRIES, RowKeeper, Rows

__all__ = ["BLOCK_ENTRIES", "ChainIndex", "Filter", "RowKeeper", "Rows"]
