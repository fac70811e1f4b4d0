"""What a person typed at the prompt, kept in the home for the arrow keys and Ctrl-R: mode 0600, the newest entries."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service_runtime.home import secure_write

if TYPE_CHECKING:
    from prompt_toolkit.history import History

MOST_ENTRIES: Final = 2_000
LONGEST: Final = 10_000
"""Characters of an entry; what is longer was pasted, and is not kept."""


class HistoryFile:
    """One JSON string a line, oldest first. A disk that refuses costs the history, never the conversation."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self) -> list[str]:
        """Returns what is kept, oldest first; lines that are damaged are passed over, and a file too long is cut."""
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return []
        if len(lines) > MOST_ENTRIES:
            lines = lines[-MOST_ENTRIES:]
            self._rewrite(lines)
        return [text for text in map(_entry, lines) if text is not None]

    def add(self, text: str) -> None:
        """Keeps an entry, unless it is empty, begins with a space, or is very long."""
        if not text.strip() or text.startswith(" ") or len(text) > LONGEST:
            return
        line = json.dumps(text).encode("ascii") + b"\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError:
            return

    def for_prompt(self) -> History:
        """Returns the history as a prompt of prompt_toolkit takes it."""
        from prompt_toolkit.history import History

        kept = self

        class KeptHistory(History):
            """Leaves what the home keeps to `HistoryFile`."""

            def load_history_strings(self) -> Iterable[str]:
                return reversed(kept.entries())

            def store_string(self, string: str) -> None:
                kept.add(string)

        return KeptHistory()

    def _rewrite(self, lines: list[bytes]) -> None:
        try:
            secure_write(self._path, b"".join(line + b"\n" for line in lines))
        except OSError:
            return


def _entry(line: bytes) -> str | None:
    try:
        text = json.loads(line)
    except ValueError:
        return None
    return text if isinstance(text, str) else None
