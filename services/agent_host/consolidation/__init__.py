"""After the reply: what of a batch of exchanges will still matter goes into memory (agent.md rows 30 to 36).

    open rows ─ batch ─ model (spec consolidation) ─ restates, keep gate ─ one transaction ─ memory_remember, each once

Read `consolidator` first. `reading` says at the end of a turn what it read, `batch` and `facts` are pure, `store` is
the transaction, `sending` the way to the memory server. A batch whose call came to nothing stays open.
"""
