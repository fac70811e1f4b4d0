"""`tools-mcp calendar import FILE…` and `tools-mcp calendar export FILE`: whole calendar files, from and to disk."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from service_runtime.errors import ServiceError, SetupError
from service_runtime.home import secure_write
from service_runtime.settings import load_settings

if TYPE_CHECKING:
    from tools_mcp.calendar.agenda import Agenda


def run_import(arguments: Sequence[str]) -> int:
    """Import files and say what became of each; 1 when one could not be imported, 2 for a wrong set-up."""
    parser = _parser("import", "Import calendar files of other programs.")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="an .ics file")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, change nothing")
    options = parser.parse_args(arguments)
    return _told(lambda: _import(options))


def run_export(arguments: Sequence[str]) -> int:
    """Write the calendar into one file; 1 when that is not possible, 2 for a wrong set-up."""
    parser = _parser("export", "Write all events, or those of some days, into one calendar file.")
    parser.add_argument("file", metavar="FILE", type=Path, help="the .ics file to write; one that is there is replaced")
    parser.add_argument("--start", metavar="DATE", help="only what takes place from then on")
    parser.add_argument("--end", metavar="DATE", help="only what takes place until then (default: a year later)")
    options = parser.parse_args(arguments)
    return _told(lambda: _export(options))


def _import(options: argparse.Namespace) -> int:
    from tools_mcp.calendar.wording import import_text

    agenda = _agenda(options)
    failed = False
    for path in options.files:
        try:
            answer = agenda.take_in(_content(path), dry_run=options.dry_run)
            sys.stdout.write(f"{path}: {import_text(answer)}\n")
        except ServiceError as error:
            sys.stderr.write(f"{path}: {error}\n")
            failed = True
    return int(failed)


def _export(options: argparse.Namespace) -> int:
    agenda = _agenda(options)
    everything = options.start is None and options.end is None
    data, events = agenda.packed(None if everything else agenda.window(options.start, options.end)[0])
    try:
        secure_write(options.file, data)
    except OSError as error:
        why = (error.strerror or "the disk failed").lower()
        raise SetupError(f"{options.file} cannot be written: {why}.") from error
    sys.stdout.write(f"{options.file}: {len(events)} events and series\n")
    return 0


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SetupError(f"cannot be read: {(error.strerror or 'the disk failed').lower()}.") from error


def _agenda(options: argparse.Namespace) -> "Agenda":
    from tools_mcp.calendar.account import account_of
    from tools_mcp.calendar.agenda import open_agenda

    settings = load_settings(os.environ, Path.cwd(), options.home)
    return open_agenda(settings.home.folder("calendar", for_reading=True), settings.zone(), account_of(settings))


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"tools-mcp calendar {name}", description=description, allow_abbrev=False)
    parser.add_argument("--home", metavar="FOLDER", help="the home folder (else PROMETHEUS_HOME)")
    return parser


def _told(act: Callable[[], int]) -> int:
    try:
        return act()
    except ServiceError as error:
        sys.stderr.write(f"tools-mcp: {error}\n")
        return 2 if isinstance(error, SetupError) else 1
