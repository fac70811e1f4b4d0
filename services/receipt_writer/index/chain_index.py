"""The index of one chain."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from receipt_writer.errors import LedgerDamagedError, RequestRefusedError
from receipt_writer.format.chain import Head, genesis_head
from receipt_writer.format.digest import origin
from receipt_writer.format.errors import shown
from receipt_writer.format.merkle import Frontier, Tree, leaf_hash
from receipt_writer.format.schema import Layer
from receipt_writer.index.columns import (
    ABSENT_KEY,
    ABSENT_VALUE,
    Column,
    KeyTable,
    key_fingerprint,
    value_at,
    value_fingerprint,
)
from receipt_writer.index.rows import BLOCK_ENTRIES, Rows

_FORM = "v2"
_DIGEST_BYTES = 32
_SIGNER_PATH = ("attestation", "publicKey")
_SIGNER_MEMBER = b'"publicKey":"'
_SIGNER_CHARACTERS = 44


@dataclass(frozen=True)
class Filter:
    """Which entries of a chain somebody asks for. Everything that is set must hold; 0 and "" mean: not set.

    `members` are names of the layer's filters (see the table) and values as text. `recorded_from_ms` is included,
    `recorded_to_ms` is not. `to_id` and `from_id` are both included.
    """

    from_id: int = 0
    to_id: int = 0
    members: tuple[tuple[str, str], ...] = ()  # such as ("sessionId", "s_…")
    recorded_from_ms: int = 0
    recorded_to_ms: int = 0
    newest_first: bool = False
    limit: int = 0


class ChainIndex:
    """Head, tree, idempotency keys and filters of one chain: 76 bytes an entry, and 6 a filter of its layer.

    Changed by one thread only; a reader in another thread sees entries appear whole because `head` is set last.

    Attributes:
        adopted: How many entries from the first on are known by kept rows; their lines were not parsed.
    """

    def __init__(self, layer: Layer, substrate_id: str, tenant_id: str | None = None) -> None:
        self.layer, self.tenant_id = layer, tenant_id
        self.origin = origin(substrate_id, layer.chain, tenant_id)
        self.head: Head = genesis_head(self.origin)
        self.tree = Tree()
        self.key_members = layer.form(_FORM).idempotency_key
        self.adopted = 0
        self._keys = KeyTable()
        self._key_column = bytearray()
        self._recorded = array("q")
        self._digests = bytearray()  # of the lines of each whole block, 32 bytes each
        self._running = sha256()  # of the lines behind them
        self._lengths = array("I")
        self._columns = {name: Column() for name in layer.filters}
        # Taken apart once: the member's name and what follows it. The signer is no member of a body.
        self._filtered = tuple(
            (self._columns[name], path[0], path[1:]) for name, path in layer.filters.items() if path != _SIGNER_PATH
        )
        self._signers = [self._columns[name] for name, path in layer.filters.items() if path == _SIGNER_PATH]

    @property
    def frontier(self) -> Frontier:
        """All that growing the tree needs to know of it, as a value."""
        return self.tree.frontier()

    def add(self, fields: Mapping[str, object], line: bytes, head: Head) -> None:
        """Remember the next entry: its body's members, its line, and the head it makes."""
        self._recorded.append(head.recorded_at_ms)
        self.tree.append(leaf_hash(line))
        self._lengths.append(len(line))
        self._running.update(line + b"\n")
        if head.size % BLOCK_ENTRIES == 0:
            self._digests += self._running.digest()
            self._running = sha256()
        key = self.key_of(fields)
        fingerprint = key_fingerprint(key) if key else ABSENT_KEY  # an L12 entry of form v1 has no key
        self._key_column += fingerprint
        self._keys.add(fingerprint, head.size)
        for column, name, rest in self._filtered:
            value = fields.get(name)
            column.extend(ABSENT_VALUE if value is None else _fingerprint_at(value, rest))
        for column in self._signers:
            signer = _signer_of(line)
            column.extend(ABSENT_VALUE if signer is None else value_fingerprint(signer))
        self.head = head

    def adopt(self, rows: Rows, head: Head) -> None:
        """Remember the next block of entries by what was kept of them, and the head that the last of them makes."""
        first = self.head.size + 1
        self._digests += rows.digest
        self.tree.extend(rows.leaves)
        self._recorded.extend(rows.times)
        self._lengths.extend(rows.lengths)
        self._key_column += rows.keys
        self._keys.add(rows.keys, first)
        for column, values in zip(self._columns.values(), rows.values, strict=True):
            column.extend(values)
        self.adopted += BLOCK_ENTRIES
        self.head = head

    def rows(self, block: int) -> Rows:
        """Return what is to be kept of a block of entries that exist; blocks count from 0."""
        first, last = block * BLOCK_ENTRIES + 1, (block + 1) * BLOCK_ENTRIES
        return Rows(
            bytes(self._digests[block * _DIGEST_BYTES : (block + 1) * _DIGEST_BYTES]),
            self.tree.leaf_hashes(first - 1, last),
            self._recorded[first - 1 : last],
            self._lengths[first - 1 : last],
            bytes(self._key_column[(first - 1) * len(ABSENT_KEY) : last * len(ABSENT_KEY)]),
            tuple(column.values(first, last) for column in self._columns.values()),
        )

    def key_of(self, draft: Mapping[str, object]) -> str:
        """Return a draft's idempotency key, "" when it has none."""
        if len(self.key_members) == 1:
            return str(draft.get(self.key_members[0], ""))
        return " ".join(str(draft[name]) for name in self.key_members if name in draft)

    def id_of(self, key: str) -> int | None:
        """Return the newest entry that was recorded under an idempotency key."""
        return self._keys.newest(key_fingerprint(key)) if key else None

    def require_recorded(self, entry_id: int, line: bytes) -> None:
        """Make sure that a line read back is the one that was recorded.

        Raises:
            LedgerDamagedError: It is not: somebody, or the disk, changed it since.
        """
        if leaf_hash(line) != self.tree[entry_id - 1]:
            raise LedgerDamagedError(
                f"Entry {entry_id} of the chain {self.layer.chain} is not what was recorded; stop the writer and put a "
                "good copy back."
            )

    def recorded_at_ms(self, entry_id: int) -> int:
        """Return when an entry that exists was recorded."""
        return self._recorded[entry_id - 1]

    def ids_with(self, member: str, value: str) -> list[int]:
        """Return the ids of the entries in which a filter's member has this value, in order."""
        return list(self.select(Filter(members=((member, value),))))

    def select(self, wanted: Filter) -> Iterator[int]:
        """Return the ids that a filter asks for, in the order it asks for, as of now.

        They are found as they are taken, so a few of many cost little. By fingerprints: see `matches`.

        Raises:
            RequestRefusedError: The filter names a member by which this chain's entries cannot be asked for.
        """
        size = self.head.size
        first = max(wanted.from_id, 1)
        last = min(wanted.to_id or size, size)
        if wanted.recorded_from_ms:
            first = max(first, bisect_left(self._recorded, wanted.recorded_from_ms, hi=size) + 1)
        if wanted.recorded_to_ms:
            last = min(last, bisect_left(self._recorded, wanted.recorded_to_ms, hi=size))
        columns = [(self._column(name), value_fingerprint(value)) for name, value in wanted.members]
        found = _matching(columns, first, last, newest_first=wanted.newest_first)
        return islice(found, wanted.limit or None)

    def matches(self, wanted: Filter, members: Mapping[str, object]) -> bool:
        """Say whether a line's members are what a filter asks for; no fingerprint has a say in it."""
        return all(value_at(members, self.layer.filters[name]) == value for name, value in wanted.members)

    def _column(self, member: str) -> Column:
        if member not in self._columns:
            known = " ".join(self._columns)
            raise RequestRefusedError(
                f"Entries of the chain {self.layer.chain} cannot be filtered by {shown(member)}; they can by: {known}."
            )
        return self._columns[member]


def _matching(columns: list[tuple[Column, bytes]], first: int, last: int, *, newest_first: bool) -> Iterator[int]:
    if not columns:
        yield from range(last, first - 1, -1) if newest_first else range(first, last + 1)
        return
    (column, value), *others = columns
    search = column.ids_backwards if newest_first else column.ids
    for one in search(value, first, last):
        if all(other.holds(one, wanted) for other, wanted in others):
            yield one


def _fingerprint_at(member: object, path: Sequence[str]) -> bytes:
    value = value_at(member, path) if path else str(member)
    return ABSENT_VALUE if value is None else value_fingerprint(value)


def _signer_of(line: bytes) -> str | None:
    """Return the key of a line's attestation, which is the last member of that name."""
    at = line.rfind(_SIGNER_MEMBER) + len(_SIGNER_MEMBER)
    return line[at : at + _SIGNER_CHARACTERS].decode("ascii", "replace") if at >= len(_SIGNER_MEMBER) else None
