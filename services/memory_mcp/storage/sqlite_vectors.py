"""Vectors of an SQLite store, compared one by one with the query's: exact, and fast enough for 100,000 memories.

They are kept in this process between searches, a byte a part, and follow the table by its stamps: a stamp is never
given twice, so the number of rows and the newest stamp say whether anything changed. numpy is imported at first use.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory_mcp.dense import Near, Nearness
from memory_mcp.embedding.vector import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

_BLOCK = 8_192
"""Vectors that are widened at a time, so that a search takes little memory of its own."""
_ROWS = """
SELECT stamp, memory, scope, live, coalesce(episode, -1), coalesce(position, -1), codes FROM embedding
 WHERE model = ? AND stamp > ? AND length(codes) = ? ORDER BY stamp
"""
_STATE = "SELECT count(*), coalesce(max(stamp), 0) FROM embedding WHERE model = ?"


@dataclass
class _Table:
    """The rows of one model: a column of facts each, the codes as a matrix, and the length of each vector."""

    facts: Numbers  # stamp, memory, scope, live, episode, position; -1 is none
    codes: NDArray[np.int8]
    lengths: NDArray[np.float64]


class VectorCache:
    """The vectors of the model that was last asked for; used by one thread at a time."""

    def __init__(self) -> None:
        self._of: tuple[str, int] | None = None
        self._table: _Table | None = None
        self._state = (0, 0)

    def follow(self, connection: sqlite3.Connection, vector: Vector) -> None:
        """Brings the cache to what a transaction sees."""
        of = (vector.model, len(vector.codes))
        state = connection.execute(_STATE, (vector.model,)).fetchone()
        if self._table is not None and of == self._of and state == self._state:
            return
        known = self._table if of == self._of else None
        newest = self._state[1] if known is not None else 0
        table = _joined(known, connection.execute(_ROWS, (*of[:1], newest, of[1])).fetchall(), of[1])
        if known is not None and len(table.facts) != state[0]:  # something was deleted
            table = _joined(None, connection.execute(_ROWS, (*of[:1], 0, of[1])).fetchall(), of[1])
        self._of, self._table, self._state = of, table, state

    def nearest(
        self,
        part: tuple[Sequence[int], Sequence[int]],
        vector: Vector,
        limit: int,
        also: Sequence[int],
        within: set[int] | None,
    ) -> Nearness:
        """Returns the mean cosine of a part of the store (scopes, live), its nearest memories, and those of `also`."""
        import numpy as np

        if self._table is None:
            return Nearness()
        facts = self._table.facts
        rows = np.flatnonzero(np.isin(facts[:, 2], part[0]) & np.isin(facts[:, 3], part[1]))
        if not len(rows):
            return Nearness()
        cosines = _cosines(self._table, rows, vector)
        numbers = facts[rows, 1]
        allowed = np.ones(len(rows), dtype=bool) if within is None else np.isin(numbers, list(within))
        best = np.lexsort((-numbers, -cosines))
        best = best[allowed[best]][:limit]
        wanted = dict.fromkeys([*best.tolist(), *np.flatnonzero(np.isin(numbers, list(also))).tolist()])
        near = [_near(facts[rows[place]].tolist(), float(cosines[place])) for place in wanted]
        return Nearness(float(cosines.mean()), near)


def _joined(known: _Table | None, rows: Sequence[tuple[Any, ...]], dimensions: int) -> _Table:
    """Returns the rows known before with those that came; of two rows of one memory the newer stays."""
    import numpy as np

    facts = np.array([row[:6] for row in rows], dtype=np.int64).reshape(-1, 6)
    codes = np.frombuffer(b"".join(row[6] for row in rows), dtype=np.int8).reshape(-1, dimensions)
    lengths = np.sqrt(np.square(codes, dtype=np.float32).sum(axis=1, dtype=np.float64))
    if known is None:
        return _Table(facts, codes, lengths)
    kept = ~np.isin(known.facts[:, 1], facts[:, 1])
    return _Table(
        np.concatenate([known.facts[kept], facts]),
        np.concatenate([known.codes[kept], codes]),
        np.concatenate([known.lengths[kept], lengths]),
    )


def _cosines(table: _Table, rows: Numbers, vector: Vector) -> NDArray[np.float64]:
    """Returns the cosine of each row with a vector; sums of products of bytes are exact, whatever the order."""
    import numpy as np

    query = np.frombuffer(vector.codes, dtype=np.int8).astype(np.float32)
    length = float(np.sqrt(np.square(query).sum(dtype=np.float64)))
    found = np.zeros(len(rows), dtype=np.float64)
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        products = table.codes[part].astype(np.float32) @ query
        both = table.lengths[part] * length
        found[start : start + _BLOCK] = np.divide(products, both, out=np.zeros(len(part)), where=both > 0)
    return found


def _near(facts: Sequence[int], cosine: float) -> Near:
    episode, position = facts[4:6]
    return Near(facts[1], cosine, None if episode < 0 else episode, None if position < 0 else position)
