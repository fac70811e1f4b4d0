"""Logging of a process: the standard library, to stderr only, because stdout belongs to the protocol."""

import logging
import sys

from service_runtime.errors import SetupError

_LEVELS = ("debug", "info", "warning", "error", "critical")


def configure(level: str | None) -> None:
    """Send every log record of this level and above (default `warning`) to stderr.

    Raises:
        SetupError: The level is not one of the standard library's five.
    """
    chosen = (level or "warning").lower()
    if chosen not in _LEVELS:
        raise SetupError(f"The log level {level!r} is unknown; use one of {', '.join(_LEVELS)}.")
    logging.basicConfig(
        stream=sys.stderr,
        level=chosen.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
