"""The process that started this one: its name, and the pipe by which it tells us to leave."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

_log = logging.getLogger(__name__)
_START_TIME = 19  # in /proc/PID/stat, counted behind the command's closing parenthesis


def when_stdin_ends(tell: Callable[[], object]) -> None:
    """Call `tell` from another thread when stdin ends, which whoever holds the pipe makes it do."""

    def watch() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            _log.info("stdin cannot be read, which counts as its end")
        tell()

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def parent_process() -> str:
    """Name the process that started this one, so that another process with its number later is not mistaken for it."""
    parent = os.getppid()
    try:
        status = Path(f"/proc/{parent}/stat").read_text(encoding="utf-8")
    except OSError:
        return f"{parent}"
    return f"{parent}.{status.rpartition(')')[2].split()[_START_TIME]}"
