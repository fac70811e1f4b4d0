"""What the writer remembers of a chain beside its bytes: rebuilt from the chain at every start, never stored."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from receipt_writer.errors import LedgerDamagedError, RequestRefusedError
from receipt_writer.format.chain import Head, genesis_head
from receipt_writer.format.digest import origin
from receipt_writer.format.merkle import Frontier, leaf_hash
from receipt_writer.format.schema import Layer

_FILTERS = {"L10": ("turnId", "sessionId"), "L12": ("turnId", "specId")}
_FORM = "v2"
_LEAF_BYTES = 32


@dataclass(frozen=True)
class Filter:
    """Which entries of a chain somebody asks for. Everything that is set must hold; 0 and "" mean: not set.

    `recorded_from_ms` is included, `recorded_to_ms` is not. `to_id` and `from_id` are both included.
    """

    from_id: int = 0
    to_id: int = 0
    members: tuple[tuple[str, str], ...] = ()  # ledger name and value, such as ("sessionId", "s_…")
    recorded_from_ms: int = 0
    recorded_to_ms: int = 0
    newest_first: bool = False
    limit: int = 0


class Leaves(Sequence[bytes]):
    """The tree's leaf hashes in one piece of memory, 32 bytes an entry."""

    def __init__(self, hashes: bytes | bytearray = b"") -> None:
        self._hashes = bytearray(hashes)

    def __len__(self) -> int:
        return len(self._hashes) // _LEAF_BYTES

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> "Leaves": ...
    def __getitem__(self, at: "int | slice") -> "bytes | Leaves":
        if isinstance(at, slice):
            start, stop, _ = at.indices(len(self))
            return Leaves(self._hashes[start * _LEAF_BYTES : stop * _LEAF_BYTES])
        if not 0 <= at < len(self):
            raise IndexError(at)
        return bytes(self._hashes[at * _LEAF_BYTES : (at + 1) * _LEAF_BYTES])

    def append(self, leaf: bytes) -> None:
        """Add the next leaf's hash."""
        self._hashes += leaf


class ChainIndex:
    """Head, tree, idempotency keys and filters of one chain. About 300 bytes an entry.

    Changed by one thread only; a reader in another thread sees entries appear whole because ids are published last.
    """

    def __init__(self, layer: Layer, substrate_id: str, tenant_id: str | None = None) -> None:
        self.layer, self.tenant_id = layer, tenant_id
        self.origin = origin(substrate_id, layer.chain, tenant_id)
        self.head: Head = genesis_head(self.origin)
        self.frontier = Frontier()
        self.leaves = Leaves()
        self.key_members = layer.form(_FORM).idempotency_key
        self._ids_by_key: dict[str, int] = {}
        self._recorded = array("q")
        self._ids_by_value: dict[str, dict[str, array[int]]] = {name: {} for name in _FILTERS.get(layer.name, ())}

    def add(self, fields: Mapping[str, object], line: bytes, head: Head) -> None:
        """Remember the next entry: its body's members, its line, and the head it makes."""
        leaf = leaf_hash(line)
        self.leaves.append(leaf)
        self.frontier = self.frontier.append(leaf)
        self._recorded.append(head.recorded_at_ms)
        key = self.key_of(fields)
        if key:  # an L12 entry of form v1 has none
            self._ids_by_key[key] = head.size
        for name, ids_by_value in self._ids_by_value.items():
            if name in fields:
                ids_by_value.setdefault(str(fields[name]), array("Q")).append(head.size)
        self.head = head

    def key_of(self, draft: Mapping[str, object]) -> str:
        """Return a draft's idempotency key, "" when it has none."""
        return " ".join(str(draft[name]) for name in self.key_members if name in draft)

    def id_of(self, key: str) -> int | None:
        """Return the entry that was recorded under an idempotency key."""
        return self._ids_by_key.get(key)

    def require_recorded(self, entry_id: int, line: bytes) -> None:
        """Make sure that a line read back is the one that was recorded.

        Raises:
            LedgerDamagedError: It is not: somebody, or the disk, changed it since.
        """
        if leaf_hash(line) != self.leaves[entry_id - 1]:
            raise LedgerDamagedError(
                f"Entry {entry_id} of the chain {self.layer.chain} is not what was recorded; stop the writer and put a "
                "good copy back."
            )

    def recorded_at_ms(self, entry_id: int) -> int:
        """Return when an entry that exists was recorded."""
        return self._recorded[entry_id - 1]

    def ids_with(self, member: str, value: str) -> Sequence[int]:
        """Return the ids of the entries in which an indexed member has this value, in order."""
        return self._ids_by_value[member].get(value, array("Q"))

    def select(self, wanted: Filter) -> Sequence[int]:
        """Return the ids that a filter asks for, in the order it asks for.

        Raises:
            RequestRefusedError: The filter names a member that entries of this chain do not have.
        """
        first = max(wanted.from_id, 1)
        last = min(wanted.to_id or self.head.size, self.head.size)
        if wanted.recorded_from_ms:
            first = max(first, bisect_left(self._recorded, wanted.recorded_from_ms) + 1)
        if wanted.recorded_to_ms:
            last = min(last, bisect_left(self._recorded, wanted.recorded_to_ms))
        ids = self._within(wanted.members, first, last)
        if wanted.newest_first:
            ids = ids[::-1]
        return ids[: wanted.limit] if wanted.limit else ids

    def _within(self, members: tuple[tuple[str, str], ...], first: int, last: int) -> Sequence[int]:
        if not members:
            return range(first, last + 1)
        lists = [self._require_indexed(name).get(value, array("Q")) for name, value in members]
        shortest = min(lists, key=len)
        candidates = shortest[bisect_left(shortest, first) : bisect_right(shortest, last)]
        others = [ids for ids in lists if ids is not shortest]
        return [one for one in candidates if all(_holds(ids, one) for ids in others)]

    def _require_indexed(self, member: str) -> dict[str, "array[int]"]:
        if member not in self._ids_by_value:
            known = " ".join(self._ids_by_value)
            raise RequestRefusedError(
                f"Entries of the chain {self.layer.chain} cannot be filtered by {member}; they can by: {known}."
            )
        return self._ids_by_value[member]


def _holds(ids: Sequence[int], wanted: int) -> bool:
    at = bisect_left(ids, wanted)
    return at < len(ids) and ids[at] == wanted
