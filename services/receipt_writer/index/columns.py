"""Flat columns over the entries of a chain: small, quick to load, and searched at the speed of `bytes.find`.

A value stands in a column as its fingerprint, the first bytes of its SHA-256. Two values with one fingerprint cost at
most a line that is read in vain: whoever lists entries looks at the lines. Nobody looks again where an idempotency key
is found, so those have 12 bytes: to hit the key of somebody else takes 2^96 attempts, and who makes two keys of his own
meet, in 2^48, is refused the second.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from struct import iter_unpack

VALUE_BYTES = 6
KEY_BYTES = 12
ABSENT_VALUE = bytes(VALUE_BYTES)
ABSENT_KEY = bytes(KEY_BYTES)

_KEY_FORMAT = f"{KEY_BYTES}s"
_ID_BYTES = 6
_ROW_BYTES = KEY_BYTES + _ID_BYTES
_SEARCHED_BYTES = VALUE_BYTES << 14  # a search in one go holds up the other threads for some 50 us
_VALUES_KNOWN = 4096  # a spec, a model or a signer comes again and again


@lru_cache(_VALUES_KNOWN)
def value_fingerprint(value: str) -> bytes:
    """Return the 6 bytes that stand for a value in a column."""
    return hashlib.sha256(value.encode(errors="surrogatepass")).digest()[:VALUE_BYTES]


def key_fingerprint(key: str) -> bytes:
    """Return the 12 bytes that stand for an idempotency key."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:KEY_BYTES]


def value_at(members: object, path: Sequence[str]) -> str | None:
    """Return what a filter compares: the member at a path as text, None where there is none or it is null."""
    value = members
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return None if value is None else str(value)


class Column:
    """The fingerprints of one member, one an entry, `ABSENT_VALUE` where an entry has no value."""

    def __init__(self) -> None:
        self._values = bytearray()

    def extend(self, values: bytes) -> None:
        """Add the next entries' fingerprints."""
        self._values += values

    def values(self, first: int, last: int) -> bytes:
        """Return the fingerprints of the entries from `first` to `last`, both included."""
        return bytes(self._values[(first - 1) * VALUE_BYTES : last * VALUE_BYTES])

    def holds(self, entry_id: int, value: bytes) -> bool:
        """Say whether an entry has this fingerprint."""
        return self._values.startswith(value, (entry_id - 1) * VALUE_BYTES)

    def ids(self, value: bytes, first: int, last: int) -> Iterator[int]:
        """Yield the entries from `first` to `last` that have a fingerprint, in order."""
        at, end = (first - 1) * VALUE_BYTES, last * VALUE_BYTES
        while at < end:
            found = self._values.find(value, at, min(at + _SEARCHED_BYTES, end))
            if found < 0:
                at += _SEARCHED_BYTES
                continue
            place, is_between = divmod(found, VALUE_BYTES)
            if not is_between:
                yield place + 1
            at = (place + 1) * VALUE_BYTES

    def ids_backwards(self, value: bytes, first: int, last: int) -> Iterator[int]:
        """Yield the same entries, the newest first."""
        start, end = (first - 1) * VALUE_BYTES, last * VALUE_BYTES
        while start < end:
            found = self._values.rfind(value, max(start, end - _SEARCHED_BYTES), end)
            if found < 0:
                end -= _SEARCHED_BYTES
                continue
            place, is_between = divmod(found, VALUE_BYTES)
            if is_between:
                end = (place + 1) * VALUE_BYTES
            else:
                yield place + 1
                end = place * VALUE_BYTES


class KeyTable:
    """Which entry was recorded under which idempotency key; the newest, when a key has several.

    4,096 buckets by the fingerprint's first bits, so that finding a key looks at one entry in 4,096, and no growth ever
    moves them all.
    """

    def __init__(self) -> None:
        self._buckets: defaultdict[int, bytearray] = defaultdict(bytearray)

    def add(self, keys: bytes, first_id: int) -> None:
        """Add the next entries' fingerprints; `ABSENT_KEY` is passed over."""
        buckets = self._buckets
        for entry_id, (key,) in enumerate(iter_unpack(_KEY_FORMAT, keys), first_id):
            if key != ABSENT_KEY:
                buckets[key[0] << 4 | key[1] >> 4] += key + entry_id.to_bytes(_ID_BYTES)

    def newest(self, key: bytes) -> int | None:
        """Return the newest entry with a fingerprint."""
        rows = self._buckets.get(key[0] << 4 | key[1] >> 4, b"")
        end = len(rows)
        while (found := rows.rfind(key, 0, end)) >= 0:
            if found % _ROW_BYTES == 0:
                return int.from_bytes(rows[found + KEY_BYTES : found + _ROW_BYTES])
            end = found + KEY_BYTES - 1
        return None
