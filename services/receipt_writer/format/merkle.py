"""The tree over a chain's lines (RF-16): RFC 6962 section 2.1 with SHA-256, proofs checked as RFC 9162 does.

A leaf is a whole line, signature included, so a root also fixes the signatures. Indices count from 0: entry 1 is
leaf 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from receipt_writer.format.errors import TreeError

HASH_BYTES = 32
"""Length of a leaf, a node and a root."""
EMPTY_ROOT = hashlib.sha256(b"").digest()
"""Root of the tree without leaves."""

_LEAF_PREFIX = b"\x00"
_NODE_PREFIX = b"\x01"
_PAIR_BYTES = 2 * HASH_BYTES
_STRIDE = 4  # levels between two that are kept
_FOLDED_BYTES = HASH_BYTES << _STRIDE  # nodes that become one of the next kept level


def leaf_hash(line: bytes) -> bytes:
    """Return the leaf of an entry's line, which has no line break here."""
    return hashlib.sha256(_LEAF_PREFIX + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the node above two nodes."""
    return hashlib.sha256(_NODE_PREFIX + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """All that growing a tree needs to know of it: its size and the roots of its perfect subtrees, largest first.

    There are as many as the size has bits set, so it stays under 54 hashes for any chain.

    Raises:
        TreeError: the number of roots does not fit the size.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 0 or len(self.peaks) != self.size.bit_count():
            raise TreeError(f"A tree of size {self.size} does not have {len(self.peaks)} perfect subtrees.")

    def append(self, leaf: bytes) -> Frontier:
        """Return the frontier of the tree with one more leaf hash."""
        peaks, node, rest = list(self.peaks), leaf, self.size
        while rest & 1:
            node = node_hash(peaks.pop(), node)
            rest >>= 1
        return Frontier(self.size + 1, (*peaks, node))

    def root(self) -> bytes:
        """Return the tree's root."""
        if not self.peaks:
            return EMPTY_ROOT
        *peaks, node = self.peaks
        while peaks:
            node = node_hash(peaks.pop(), node)
        return node


class Tree:
    """A growing tree that keeps what proofs of any size need: a root or path takes O(log n) hashes.

    Kept are the leaf hashes and every fourth level above them, 34.2 bytes a leaf; every second kept level is a level of
    C2SP tlog-tiles. A perfect subtree of any height is folded from at most eight kept nodes.

    One thread appends. Others may meanwhile ask about any size that the tree had when they began.
    """

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        """Start with these leaf hashes."""
        self._levels = [bytearray()]
        self.extend(b"".join(leaves))

    def __len__(self) -> int:
        """Return the number of leaves."""
        return len(self._levels[0]) // HASH_BYTES

    def __getitem__(self, index: int) -> bytes:
        """Return a leaf hash; indices count from 0.

        Raises:
            IndexError: there is no such leaf.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        return bytes(self._nodes(0, index, index + 1))

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        level = self._levels[0]
        if (len(level) + HASH_BYTES) % _FOLDED_BYTES:
            level += leaf
        else:
            self.extend(leaf)

    def extend(self, leaves: bytes) -> None:
        """Add leaf hashes that stand one behind the other."""
        height, added = 0, leaves
        while added:
            level = self._levels[height]
            complete = len(level) // _FOLDED_BYTES
            level += added
            whole = len(level) // _FOLDED_BYTES
            added = _fold(bytes(level[complete * _FOLDED_BYTES : whole * _FOLDED_BYTES]), _STRIDE)
            height += 1
            if added and height == len(self._levels):
                self._levels.append(bytearray())

    def leaf_hashes(self, start: int, end: int) -> bytes:
        """Return the leaf hashes from `start` up to `end`, one behind the other."""
        return self._nodes(0, start, end)

    def root(self, size: int | None = None) -> bytes:
        """Return the root over the first `size` leaves, or over all.

        Raises:
            TreeError: there are fewer leaves.
        """
        size = len(self) if size is None else size
        if not 0 <= size <= len(self):
            raise TreeError(f"There is no tree of size {size} over {len(self)} leaves.")
        return self.subtree(0, size) if size else EMPTY_ROOT

    def subtree(self, start: int, end: int) -> bytes:
        """Return the node over the leaves from `start` up to `end`, which follow one another as RFC 6962 splits them.

        `start` is a multiple of a power of two that is not smaller than their number, which is at least 1.
        """
        *peaks, node = self._peaks(start, end)
        while peaks:
            node = node_hash(peaks.pop(), node)
        return node

    def frontier(self) -> Frontier:
        """Return what growing a tree from here on needs, as a value."""
        return Frontier(len(self), tuple(self._peaks(0, len(self))))

    def _peaks(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            height = (end - start).bit_length() - 1
            yield self._perfect(height, start >> height)
            start += 1 << height

    def _perfect(self, height: int, index: int) -> bytes:
        level, above = divmod(height, _STRIDE)
        return _fold(self._nodes(level, index << above, (index + 1) << above), above)

    def _nodes(self, level: int, start: int, end: int) -> bytes:
        return bytes(self._levels[level][start * HASH_BYTES : end * HASH_BYTES])


def _fold(nodes: bytes, levels: int) -> bytes:
    """Return the nodes that stand `levels` levels higher; 2**levels nodes become one."""
    for _ in range(levels):
        nodes = b"".join(
            [
                hashlib.sha256(_NODE_PREFIX + nodes[at : at + _PAIR_BYTES]).digest()
                for at in range(0, len(nodes), _PAIR_BYTES)
            ]
        )
    return nodes


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the root over leaf hashes."""
    frontier = Frontier()
    for leaf in leaves:
        frontier = frontier.append(leaf)
    return frontier.root()


def inclusion_path(tree: Tree, index: int, size: int) -> list[bytes]:
    """Return the sibling hashes from leaf `index` up to the root over the first `size` leaf hashes (PATH).

    Raises:
        TreeError: not 0 <= index < size <= number of leaves.
    """
    if not 0 <= index < size <= len(tree):
        raise TreeError(f"Leaf {index} has no proof in a tree of size {size} over {len(tree)} leaves.")
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _left_size(end - start)
        if index < middle:
            path.append(tree.subtree(middle, end))
            end = middle
        else:
            path.append(tree.subtree(start, middle))
            start = middle
    return path[::-1]


def consistency_path(tree: Tree, from_size: int, to_size: int) -> list[bytes]:
    """Return the hashes that show the first `from_size` leaves to be a prefix of the first `to_size` (PROOF).

    Raises:
        TreeError: not 1 <= from_size <= to_size <= number of leaves.
    """
    if not 1 <= from_size <= to_size <= len(tree):
        raise TreeError(f"Sizes {from_size} and {to_size} have no proof over {len(tree)} leaves.")
    path, start, end = [], 0, to_size
    while end != from_size:
        middle = start + _left_size(end - start)
        if from_size <= middle:
            path.append(tree.subtree(middle, end))
            end = middle
        else:
            path.append(tree.subtree(start, middle))
            start = middle
    if start:
        path.append(tree.subtree(start, end))
    return path[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Say whether `path` leads from leaf hash `leaf` at `index` to the root of a tree of `size` (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes(leaf, root, *path):
        return False
    node, at, last = leaf, index, size - 1
    for sibling in path:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = node_hash(sibling, node)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


def verify_consistency(from_size: int, to_size: int, path: Sequence[bytes], from_root: bytes, to_root: bytes) -> bool:
    """Say whether `path` leads from the older root to the newer one (RFC 9162, 2.1.4.2).

    The empty tree is a prefix of every tree, which proves nothing, so `from_size` 0 is refused.
    """
    if not 1 <= from_size <= to_size or not _are_hashes(*path):
        return False
    if from_size == to_size:
        return not path and from_root == to_root
    nodes = list(path) if from_size & (from_size - 1) else [from_root, *path]
    if not nodes:
        return False
    at, last = from_size - 1, to_size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    older = newer = nodes[0]
    for sibling in nodes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            older, newer = node_hash(sibling, older), node_hash(sibling, newer)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            newer = node_hash(newer, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and older == from_root and newer == to_root


def _are_hashes(*nodes: bytes) -> bool:
    return all(len(node) == HASH_BYTES for node in nodes)


def _left_size(size: int) -> int:
    """Return the largest power of two below `size`: how many leaves stand left of the root."""
    return 1 << ((size - 1).bit_length() - 1)
