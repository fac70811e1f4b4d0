"""Waking those who wait for a chain to grow, and nobody else."""

import asyncio
from collections.abc import Mapping
from typing import Protocol


class Sized(Protocol):
    """A chain's newest entry, as far as waking needs it."""

    @property
    def size(self) -> int:
        """How many entries the chain has."""
        ...


class Chain(Protocol):
    """A chain that grows."""

    @property
    def head(self) -> Sized:
        """Its newest entry."""
        ...


class Growth:
    """Told after every commit and every checkpoint; wakes everybody who waits for that chain, and keeps nothing.

    Take `next` first, look at the chain, and only then wait for what was taken: so nothing is missed in between. A
    commit costs those who wait for other chains nothing.
    """

    def __init__(self, chains: Mapping[str, Chain]) -> None:
        """Watch chains, by layer name."""
        self._chains = chains
        self._sizes = {layer: chain.head.size for layer, chain in chains.items()}
        self._next = {layer: asyncio.Event() for layer in chains}

    def next(self, layer: str) -> asyncio.Event:
        """Return the event that the next growth of a chain sets."""
        return self._next[layer]

    def look(self) -> None:
        """Wake those who wait for a chain that has more entries than at the last look."""
        for layer, chain in self._chains.items():
            if chain.head.size != self._sizes[layer]:
                self._sizes[layer] = chain.head.size
                self.tell(layer)

    def tell(self, layer: str) -> None:
        """Wake those who wait for a chain: it has a new checkpoint."""
        grown, self._next[layer] = self._next[layer], asyncio.Event()
        grown.set()
