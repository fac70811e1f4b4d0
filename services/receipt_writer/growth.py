"""Waking those who follow a chain when it grows, and nobody else."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    """Told after every commit and every checkpoint; wakes everybody who follows that chain, and keeps nothing.

    A commit costs those who follow other chains nothing.
    """

    def __init__(self, chains: Mapping[str, Chain]) -> None:
        """Watch chains, by layer name."""
        self._chains = chains
        self._sizes = {layer: chain.head.size for layer, chain in chains.items()}
        self._followers: dict[str, set[asyncio.Event]] = {layer: set() for layer in chains}

    @contextmanager
    def following(self, layer: str) -> Iterator[asyncio.Event]:
        """Yield an event that each growth of a chain sets during the block.

        Clear it first, look at the chain, and only then wait for it: so nothing is missed in between.
        """
        grown = asyncio.Event()
        self._followers[layer].add(grown)
        try:
            yield grown
        finally:
            self._followers[layer].discard(grown)

    def look(self) -> None:
        """Wake those who follow a chain that has more entries than at the last look."""
        for layer, chain in self._chains.items():
            if chain.head.size != self._sizes[layer]:
                self._sizes[layer] = chain.head.size
                self.tell(layer)

    def tell(self, layer: str) -> None:
        """Wake those who follow a chain: it has a new checkpoint."""
        for grown in self._followers[layer]:
            grown.set()
