"""What an index knows of consecutive entries, as bytes: columns one behind the other, to be kept beside the chain."""

from array import array
from dataclasses import dataclass
from typing import Protocol

from receipt_writer.format.merkle import HASH_BYTES
from receipt_writer.format.signing import Signer
from receipt_writer.index.columns import KEY_BYTES, VALUE_BYTES

BLOCK_ENTRIES = 256
"""So many entries are kept, or not: the width of a tile, and as many as come between two checkpoints."""

_TIME_BYTES = 8
_LENGTH_BYTES = 4
_FIXED_BYTES = HASH_BYTES + _TIME_BYTES + _LENGTH_BYTES + KEY_BYTES


@dataclass(frozen=True, slots=True)
class Rows:
    """Leaf hashes, times, lengths of the lines in bytes, key fingerprints, and a column of fingerprints a filter."""

    leaves: bytes
    times: "array[int]"
    lengths: "array[int]"
    keys: bytes
    values: tuple[bytes, ...]

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.times)

    def encode(self) -> bytes:
        """Return the columns in this machine's byte order."""
        return b"".join((self.leaves, self.times.tobytes(), self.lengths.tobytes(), self.keys, *self.values))

    @classmethod
    def decode(cls, data: bytes, filters: int) -> "Rows":
        """Return the rows of `encode`, with so many filters.

        Raises:
            ValueError: The number of bytes does not fit.
        """
        entries, rest = divmod(len(data), row_bytes(filters))
        if rest:
            raise ValueError(f"{len(data)} bytes are no rows of {filters} filters")
        parts, at = [], 0
        for width in (HASH_BYTES, _TIME_BYTES, _LENGTH_BYTES, KEY_BYTES, *(VALUE_BYTES,) * filters):
            parts.append(data[at : at + width * entries])
            at += width * entries
        leaves, times, lengths, keys, *values = parts
        return cls(leaves, array("q", times), array("I", lengths), keys, tuple(values))


class RowKeeper(Protocol):
    """Keeps an index's rows where the next start finds them."""

    def keep(self, size: int, signer: Signer) -> None:
        """Keep the rows of the first `size` entries, which a checkpoint covers; never fails."""
        ...


def row_bytes(filters: int) -> int:
    """Return how many bytes an entry takes with so many filters."""
    return _FIXED_BYTES + VALUE_BYTES * filters
