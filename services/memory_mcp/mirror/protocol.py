"""What the memory service tells a mirror."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Mirror(Protocol):
    """What is kept beside the store for people to read: told after each commit, and never in a write's way."""

    def changed(self, memory_ids: Sequence[str]) -> None:
        """Notes that these memories are to be shown anew; returns at once."""
        ...

    def purge(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Removes erased memories from the files now; returns, in words, where their text may remain."""
        ...

    def settled(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Notes that what a person wrote into these files is in the store now, so that they may be written anew.

        `files` are names below `folder` with what was read of them; one that has changed since is left alone.
        """
        ...


class NoMirror:
    """A store that is shown nowhere else."""

    def changed(self, memory_ids: Sequence[str]) -> None:
        """Does nothing."""

    def purge(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Returns nothing: there is nowhere the text could be."""
        del memory_ids
        return ()

    def settled(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Does nothing."""


UNMIRRORED = NoMirror()
