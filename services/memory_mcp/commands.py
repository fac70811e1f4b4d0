"""`memory-mcp import`, `export`, `origins`, `forget`, `restore`, `salvage`: what a person does with the whole store."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memory_mcp import app, intake
from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import Origin, Trust
from service_runtime import logs
from service_runtime.errors import ServiceError, SetupError
from service_runtime.settings import Settings, load_settings

if TYPE_CHECKING:
    from memory_mcp.app import Parts

PERSON = Origin("memory-mcp", Trust.USER)
"""Who forgets and imports at the command line."""

_FLUSH_S = 600.0
_LISTED = 20
_BROKEN_PIPE = 141


def run(name: str, summary: str, arguments: Sequence[str]) -> int:
    """Runs a command; 0 is done, 1 not possible, 2 a wrong set-up; each failure is one line on stderr."""
    parser = argparse.ArgumentParser(
        prog=f"memory-mcp {name}", description=f"{summary[:1].upper()}{summary[1:]}.", allow_abbrev=False
    )
    parser.add_argument("--home", metavar="FOLDER", help="the home folder (else PROMETHEUS_HOME)")
    parser.add_argument("--store", metavar="ADDRESS", help="a PostgreSQL address (else PROMETHEUS_MEMORY_STORE)")
    _ARGUMENTS[name](parser)
    options = parser.parse_args(arguments)
    store = {"PROMETHEUS_MEMORY_STORE": options.store} if options.store else {}
    try:
        settings = load_settings({**os.environ, **store}, Path.cwd(), options.home)
        logs.configure(settings.get("LOG_LEVEL"))
        return _COMMANDS[name](settings, options)
    except ServiceError as error:
        sys.stderr.write(f"memory-mcp: {error}\n")
        return 2 if isinstance(error, SetupError) else 1
    except BrokenPipeError:
        return _BROKEN_PIPE


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "path", metavar="PATH", nargs="?", help="a file, folder or zip archive (default: what was edited in the mirror)"
    )
    add("--format", metavar="NAME", help="what it is, when that cannot be told from it")
    add("--scope", metavar="SCOPE", help="where memories go that name no scope (default: global)")
    add("--dry-run", action="store_true", help="say what would be done, change nothing")


def _import(settings: Settings, options: argparse.Namespace) -> int:
    def act(parts: Parts) -> int:
        from memory_mcp.mirror.pages import INDEX_NAME
        from memory_mcp.transfer.told import import_text

        done = parts.transfer.take_in(
            gate=parts.gate(any_path=True),
            path=options.path or INDEX_NAME,
            format_name=options.format,
            scope=options.scope,
            dry_run=options.dry_run,
        )
        sys.stdout.write(f"{import_text(done)}\n")
        return 0

    return _with(settings, act)


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("path", metavar="PATH", nargs="?", help="the file, or for Markdown the .zip or new folder (default: print it)")
    add("--format", choices=("jsonl", "markdown"), help="default: as the path ends, else jsonl")
    add("--scope", metavar="SCOPE", help="only the memories of this scope")
    add("--live", action="store_true", help="leave out what was superseded or forgotten")


def _export(settings: Settings, options: argparse.Namespace) -> int:
    from memory_mcp.transfer import to_disk

    def act(parts: Parts) -> int:
        with parts.transfer.memories(options.scope, live_only=options.live) as memories:
            told = to_disk.write(memories, options.path, options.format)
        sys.stdout.write(told)
        return 0

    return _with(settings, act)


def _origins_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _origins(settings: Settings, options: argparse.Namespace) -> int:
    del options

    def act(parts: Parts) -> int:
        found = parts.removal.origins()
        width = max([len(one.origin.client) for one in found], default=6)
        for one in found:
            counts = f"{one.live} live, {one.superseded} superseded, {one.forgotten} forgotten"
            sys.stdout.write(f"{one.origin.client:<{width}}  {one.origin.trust.value:<6}  {counts}\n")
        if not found:
            sys.stdout.write("Nothing is remembered here.\n")
        return 0

    return _with(settings, act)


def _forget_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("ids", metavar="ID", nargs="*", help="memories to forget")
    add("--origin", metavar="NAME", help="all memories of this client, as `memory-mcp origins` names it")
    add("--trust", metavar="TRUST", help="all memories of this trust: user, agent, web or import")
    add("--hard", action="store_true", help="erase their text for good")
    add("--dry-run", action="store_true", help="list them, change nothing")


def _forget(settings: Settings, options: argparse.Namespace) -> int:
    source = intake.source(options.origin, options.trust)
    if options.ids and (options.origin or options.trust):
        raise InvalidArgumentError("Name either memories or an origin and trust, not both.")

    def act(parts: Parts) -> int:
        if options.ids:
            return _forget_ids(parts, options)
        swept = parts.removal.forget_source(source, PERSON, hard=options.hard, dry_run=options.dry_run)
        done = "would be" if options.dry_run else "are"
        sys.stdout.write(f"{len(swept.memories)} memories {done} {'erased' if options.hard else 'forgotten'}.\n")
        for memory in swept.memories[:_LISTED]:
            from memory_mcp.snippets import clip

            sys.stdout.write(f"{memory.id}  {memory.origin.client}  {clip(memory.content.body, 80)}\n")
        if len(swept.memories) > _LISTED:
            sys.stdout.write(f"… and {len(swept.memories) - _LISTED} more\n")
        _tell_remains(swept.remains)
        return 0

    return _with(settings, act)


def _forget_ids(parts: Parts, options: argparse.Namespace) -> int:
    for memory_id in options.ids:
        if options.dry_run:
            parts.memory.get(memory_id)
            sys.stdout.write(f"{memory_id} would be {'erased' if options.hard else 'forgotten'}.\n")
            continue
        done = parts.memory.forget(memory_id, PERSON, hard=options.hard)
        sys.stdout.write(f"{done.memory_id} is {'erased' if done.erased else 'forgotten'}.\n")
        _tell_remains(done.remains)
    return 0


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("ids", metavar="ID", nargs="*", help="memories to bring back")
    add("--origin", metavar="NAME", help="all forgotten memories of this client")
    add("--trust", metavar="TRUST", help="all forgotten memories of this trust: user, agent, web or import")
    add("--dry-run", action="store_true", help="list them, change nothing")


def _restore(settings: Settings, options: argparse.Namespace) -> int:
    source = intake.source(options.origin, options.trust)
    if options.ids and (options.origin or options.trust):
        raise InvalidArgumentError("Name either memories or an origin and trust, not both.")

    def act(parts: Parts) -> int:
        from memory_mcp.snippets import clip

        done = parts.removal.restore(options.ids, source, dry_run=options.dry_run)
        sys.stdout.write(f"{len(done.memories)} memories {'would be' if options.dry_run else 'are'} brought back.\n")
        for memory in done.memories[:_LISTED]:
            sys.stdout.write(f"{memory.id}  {memory.origin.client}  {clip(memory.content.body, 80)}\n")
        if len(done.memories) > _LISTED:
            sys.stdout.write(f"… and {len(done.memories) - _LISTED} more\n")
        for memory_id, why in done.left.items():
            sys.stdout.write(f"{memory_id} stays as it is: {why}.\n")
        return 0

    return _with(settings, act)


def _tell_remains(remains: Sequence[str]) -> None:
    if remains:
        sys.stdout.write(f"The text may still be in {', '.join(remains)}.\n")


def _salvage_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say how much can be read, change nothing")


def _salvage(settings: Settings, options: argparse.Namespace) -> int:
    from memory_mcp.storage import salvage
    from memory_mcp.storage.sqlite import FILE_NAME

    if settings.get("MEMORY_STORE"):
        raise InvalidArgumentError("Only a SQLite store is salvaged; restore a PostgreSQL database from its backup.")
    path = settings.home.folder("memory") / FILE_NAME
    if not path.is_file():
        raise InvalidArgumentError(
            "There is no memory store here; `memory-mcp --where` prints the folder it would be in."
        )
    try:
        if salvage.is_good(path):
            sys.stdout.write("The memory store is good; there is nothing to salvage.\n")
            return 0
        done = salvage.salvage(path, settings.zone(), app.new_id, dry_run=options.dry_run)
    except OSError as error:
        why = (error.strerror or "the disk failed").lower()
        raise InvalidArgumentError(f"The store cannot be salvaged: {why}; everything was left as it was.") from error
    could = "can be read" if options.dry_run else "were saved"
    sys.stdout.write(f"{done.from_file} memories {could} from the file and {done.from_mirror} more from the mirror.\n")
    if done.cut:
        sys.stdout.write(f"Only the beginning of the text is left of {', '.join(done.cut)}.\n")
    if done.lost:
        sys.stdout.write(f"{done.lost} could not be read.\n")
    if done.kept_as:
        sys.stdout.write(f"The damaged file is kept as {done.kept_as}; it may hold text that you erase from now on.\n")
    return 0


def _with(settings: Settings, act: Callable[[Parts], int]) -> int:
    """Opens the store for a command, and lets the mirror catch up before it ends."""
    parts = app.open_parts(settings)
    try:
        status = act(parts)
        if parts.mirror is not None:
            parts.mirror.flush(_FLUSH_S)
        return status
    finally:
        parts.close()


_ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "import": _import_arguments,
    "export": _export_arguments,
    "origins": _origins_arguments,
    "forget": _forget_arguments,
    "restore": _restore_arguments,
    "salvage": _salvage_arguments,
}
_COMMANDS: Mapping[str, Callable[[Settings, argparse.Namespace], int]] = {
    "import": _import,
    "export": _export,
    "origins": _origins,
    "forget": _forget,
    "restore": _restore,
    "salvage": _salvage,
}
