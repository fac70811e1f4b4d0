"""Finding imported memories that replace one another in a circle, in which no newest version could be found. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping


def in_circles(replaced_by: Mapping[str, str | None], stored: Callable[[str], str | None]) -> frozenset[str]:
    """Returns the ids of `replaced_by` that lead back to themselves, each id looked at once.

    `stored` says what the store has an id replaced by, for those that are not in the mapping.
    """
    seen: set[str] = set()
    found: set[str] = set()
    for first in replaced_by:
        path: dict[str, int] = {}
        at: str | None = first
        while at is not None and at not in seen:
            seen.add(at)
            path[at] = len(path)
            at = replaced_by[at] if at in replaced_by else stored(at)
        if at is not None and at in path:
            found.update(_from(path, path[at]))
    return frozenset(found & replaced_by.keys())


def _from(path: Iterable[str], start: int) -> list[str]:
    return list(path)[start:]
