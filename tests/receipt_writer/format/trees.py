"""RFC 6962 section 2.1 word for word: slow, recursive and nothing like the code it is compared with."""

from __future__ import annotations

import hashlib


def split(size: int) -> int:
    """Return k, the largest power of two smaller than n."""
    k = 1
    while k * 2 < size:
        k *= 2
    return k


def tree_head(leaves: list[bytes]) -> bytes:
    """MTH over leaf hashes."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return hashlib.sha256(b"\x01" + tree_head(leaves[:k]) + tree_head(leaves[k:])).digest()


def audit_path(m: int, leaves: list[bytes]) -> list[bytes]:
    """PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*audit_path(m, leaves[:k]), tree_head(leaves[k:])]
    return [*audit_path(m - k, leaves[k:]), tree_head(leaves[:k])]


def consistency_proof(m: int, leaves: list[bytes], *, whole: bool = True) -> list[bytes]:
    """SUBPROOF(m, D[n], b); PROOF(m, D[n]) with b true."""
    if m == len(leaves):
        return [] if whole else [tree_head(leaves)]
    k = split(len(leaves))
    if m <= k:
        return [*consistency_proof(m, leaves[:k], whole=whole), tree_head(leaves[k:])]
    return [*consistency_proof(m - k, leaves[k:], whole=False), tree_head(leaves[:k])]


def numbered_leaves(count: int) -> list[bytes]:
    """Return leaf hashes of the decimal numbers from 0."""
    return [hashlib.sha256(b"\x00%d" % number).digest() for number in range(count)]
