"""What the command line prints: one JSON document a command for programs, tables and short lines for people."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from receipt_writer.format.checkpoint import parse_note
from receipt_writer.format.merkle import leaf_hash
from receipt_writer.format.proof import Proof
from receipt_writer.fsck import Finding
from receipt_writer.printable import visible
from receipt_writer.query import StoredEntry
from receipt_writer.tables import columns, short

_WIDE = 200  # columns of a table that no terminal limits
_HASH_SHOWN = 12


def print_json(document: object) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def entry_document(entry: StoredEntry) -> dict[str, Any]:
    """Return the members of an entry's line, its attestation included."""
    document: dict[str, Any] = json.loads(entry.line)
    return document


def print_entries(layer: str, entries: Iterable[StoredEntry]) -> None:
    """Print a table of entries, one row each."""
    shown = columns(layer)
    documents = (entry_document(entry) for entry in entries)
    _print_table([one.title for one in shown], ([one.cell(members) for one in shown] for members in documents))


def print_entry(entry: StoredEntry) -> None:
    """Print an entry, a member a line."""
    print_members(entry_document(entry))


def print_members(members: Mapping[str, Any]) -> None:
    """Print the members of a line, one a line."""
    for name, value in members.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        sys.stdout.write(f"{name:20} {visible(text)}\n")


def print_seen(layer: str, line: bytes | None, note: str | None, *, as_json: bool) -> None:
    """Print what a watched chain showed, at once: an entry's line, or the checkpoint of a size."""
    if as_json:
        seen = {"entry": json.loads(line)} if line else {"checkpoint": note}
        text = json.dumps(seen, ensure_ascii=False)
    elif line:
        members = json.loads(line)
        text = "  ".join(visible(column.cell(members)) for column in columns(layer))
    else:
        text = f"checkpoint over {parse_note(note or '').checkpoint.size} entries"
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def print_state(line: bytes) -> None:
    """Print a state: when it was recorded, and a row for each chain."""
    members = json.loads(line)
    sys.stdout.write(f"state {members['id']}, recorded {members['recordedAtIso']}\n")
    rows = (
        [row["chain"], str(row["size"]), short(row["rootHash"]), short(row["headHash"])] for row in members["chains"]
    )
    _print_table(["chain", "entries", "root", "head"], rows)


def finding_document(finding: Finding) -> dict[str, object]:
    """Return a finding as JSON members."""
    return {
        "chain": finding.chain,
        "good": finding.fault is None,
        "entries": finding.entries,
        "headHash": finding.head_hash,
        "checkpointSize": finding.checkpoint_size,
        "tornBytes": finding.torn_bytes,
        "fault": finding.fault,
        "disowned": list(finding.disowned),
    }


def print_finding(finding: Finding) -> None:
    """Print a finding in one line, a fault in a second one."""
    state = "good" if finding.fault is None else "DAMAGED"
    torn = f", {finding.torn_bytes} bytes of an unfinished write behind them" if finding.torn_bytes else ""
    sys.stdout.write(
        f"{finding.chain}: {state}, {finding.entries} entries, head {finding.head_hash[:_HASH_SHOWN]}…, "
        f"checkpoint at {finding.checkpoint_size}{torn}\n"
    )
    for sentence in finding.disowned:
        sys.stdout.write(f"  {sentence}\n")
    if finding.fault:
        sys.stdout.write(f"  {finding.fault}\n")


def proof_document(proof: Proof) -> dict[str, object]:
    """Return the proof of an entry as JSON members."""
    return {
        "id": proof.index + 1,
        "size": proof.checkpoint.checkpoint.size,
        "leafHash": leaf_hash(proof.line).hex(),
        "path": [node.hex() for node in proof.path],
        "checkpoint": proof.note,
        "line": proof.line.decode(),
    }


def _print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*titles, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else _WIDE).print(table)
