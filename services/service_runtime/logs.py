"""Logging of a process: the standard library, to stderr only, because stdout belongs to the protocol."""

import logging
import sys

from service_runtime.errors import ServiceError, SetupError

LEVELS = ("debug", "info", "warning", "error", "critical")


def configure(level: str | None) -> None:
    """Send every log record of this level and above (default `warning`) to stderr.

    Raises:
        SetupError: The level is not one of the standard library's five.
    """
    chosen = (level or "warning").lower()
    if chosen not in LEVELS:
        raise SetupError(f"The log level {level!r} is unknown; use one of {', '.join(LEVELS)}.")
    logging.basicConfig(
        stream=sys.stderr,
        level=chosen.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )


def adopt(library: str) -> None:
    """Take away a library's own handlers and level, so that its records follow `configure` like everyone's."""
    logger = logging.getLogger(library)
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


def unexpected_only(record: logging.LogRecord) -> bool:
    """Tell whether a record is worth keeping: a `ServiceError` is an expected outcome, not a traceback to log."""
    return not (record.exc_info and isinstance(record.exc_info[1], ServiceError))
