"""What an index knows of a block of entries, as bytes: columns one behind the other, to be kept beside the chain."""

from array import array
from dataclasses import dataclass
from typing import Protocol

from receipt_writer.format.merkle import HASH_BYTES
from receipt_writer.format.signing import Signer
from receipt_writer.index.columns import KEY_BYTES, VALUE_BYTES

BLOCK_ENTRIES = 256
"""So many entries are kept, or not: the width of a tile, and as many as come between two checkpoints."""

_DIGEST_BYTES = 32
_TIME_BYTES = 8
_LENGTH_BYTES = 4
_FIXED_BYTES = HASH_BYTES + _TIME_BYTES + _LENGTH_BYTES + KEY_BYTES


@dataclass(frozen=True, slots=True)
class Rows:
    """What is known of 256 entries that follow one another; the first one's id is 1 more than a multiple of 256.

    `digest` is the SHA-256 of their lines as they stand in the chain, line breaks included. Then follow leaf hashes,
    times, lengths of the lines in bytes, key fingerprints, and a column of fingerprints a filter.
    """

    digest: bytes
    leaves: bytes
    times: "array[int]"
    lengths: "array[int]"
    keys: bytes
    values: tuple[bytes, ...]

    def encode(self) -> bytes:
        """Return the digest and the columns, in this machine's byte order."""
        return b"".join(
            (self.digest, self.leaves, self.times.tobytes(), self.lengths.tobytes(), self.keys, *self.values)
        )

    @classmethod
    def decode(cls, data: bytes, filters: int) -> "Rows":
        """Return the rows of `encode`, with so many filters.

        Raises:
            ValueError: The number of bytes does not fit.
        """
        if len(data) != rows_bytes(filters):
            raise ValueError(f"{len(data)} bytes are no rows of {filters} filters")
        parts, at = [], _DIGEST_BYTES
        for width in (HASH_BYTES, _TIME_BYTES, _LENGTH_BYTES, KEY_BYTES, *(VALUE_BYTES,) * filters):
            parts.append(data[at : at + width * BLOCK_ENTRIES])
            at += width * BLOCK_ENTRIES
        leaves, times, lengths, keys, *values = parts
        return cls(data[:_DIGEST_BYTES], leaves, array("q", times), array("I", lengths), keys, tuple(values))


class RowKeeper(Protocol):
    """Keeps an index's rows where the next start finds them."""

    def keep(self, size: int, signer: Signer) -> None:
        """Keep the rows of the first `size` entries, which a checkpoint covers; never fails."""
        ...


def rows_bytes(filters: int) -> int:
    """Return how many bytes the rows of one block take with so many filters."""
    return _DIGEST_BYTES + BLOCK_ENTRIES * (_FIXED_BYTES + VALUE_BYTES * filters)
