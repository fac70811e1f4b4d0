"""How far long work has come, told on stderr while a person watches; nothing at all otherwise."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int, int], None]
"""Told how many bytes are done, and how many there are."""


@contextmanager
def watched(doing: str) -> Iterator[Callable[[str], Advance]]:
    """Give a maker of progress bars, one a chain; bars go away when the block ends."""
    if not sys.stderr.isatty():
        yield lambda _name: nobody
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:

        def bar(name: str) -> Advance:
            task = bars.add_task(f"{doing} {name}", total=None)
            return lambda done, of: bars.update(task, completed=done, total=max(of, 1))

        yield bar


def nobody(_done: int, _of: int) -> None:
    """Tell nobody."""
