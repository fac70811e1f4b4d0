"""What every command of the command line is made with: its common options, its settings, its event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from service_runtime.settings import Settings, load_settings

CANCELLED = 130
HomeOption = Annotated[str | None, typer.Option("--home", help="The home folder (else PROMETHEUS_HOME).")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def settings_of(home: str | None) -> Settings:
    """Reads the settings as a command started here sees them.

    Raises:
        SetupError: a file or value cannot be used.
    """
    return load_settings(os.environ, Path.cwd(), home)


def run_command(command: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Runs a command to its exit status; Ctrl-C is `CANCELLED`."""
    try:
        return asyncio.run(command())
    except KeyboardInterrupt:
        return CANCELLED
