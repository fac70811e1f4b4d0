"""What a person types while no prompt waits for it: kept for the next one, and not shown in the middle of a reply."""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LOCAL_MODES: Final = 3  # where `tcgetattr` keeps them


@contextmanager
def unseen_typing() -> Iterator[None]:
    """Switches the echo of the terminal off for a while, which a prompt does not need; does nothing elsewhere."""
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (termios.error, OSError, ValueError):
        yield
        return
    quiet = list(before)
    quiet[_LOCAL_MODES] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
