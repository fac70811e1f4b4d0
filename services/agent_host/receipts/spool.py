"""Drafts that could not be sent, durably and in order (receipts.md section 10: a writer that is down costs no receipt).

One JSON object a line; a draft is kept once `append` returns. Only the process that holds the home writes here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent_host.providers.protocol import Identity
from agent_host.receipts.drafts import (
    CallCount,
    DecisionDraft,
    DecisionRef,
    Draft,
    MemoryUsage,
    ModelUsage,
    SpecDraft,
    ToolUsage,
    TurnIntent,
    TurnReceipt,
)
from service_runtime.home import secure_write

_KINDS = {TurnIntent: "intent", SpecDraft: "spec", DecisionDraft: "decision", TurnReceipt: "turn"}


class Spool:
    """A file of drafts, oldest first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._refused_path = path.with_suffix(".refused.jsonl")
        self.problems: tuple[str, ...] = ()
        self._drafts = self._read()

    def _read(self) -> list[Draft]:
        """Reads what waits. A line that is no draft is moved aside: it neither blocks the others nor is lost."""
        lines = self._path.read_bytes().split(b"\n") if self._path.exists() else [b""]
        lines.pop()  # empty, or an append that was cut short and so never acknowledged
        drafts, broken = [], []
        for line in lines:
            try:
                drafts.append(decode_draft(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                broken.append(line)
        if broken:
            aside = self._path.with_suffix(".broken")
            for line in broken:
                _append_durably(aside, line + b"\n")
            self.replace(drafts)
            self.problems = (f"{len(broken)} lines of the spool were no drafts and are kept in {aside.name}.",)
        return drafts

    def __len__(self) -> int:
        return len(self._drafts)

    @property
    def receipts(self) -> int:
        """How many turns' receipts wait."""
        return sum(isinstance(draft, TurnReceipt) for draft in self._drafts)

    def drafts(self) -> tuple[Draft, ...]:
        """Returns what waits, oldest first."""
        return tuple(self._drafts)

    def append(self, draft: Draft) -> None:
        """Keeps a draft; on disk when this returns.

        Raises:
            OSError: the disk refused it.
        """
        _append_durably(self._path, encode_draft(draft))
        self._drafts.append(draft)

    def replace(self, drafts: Sequence[Draft]) -> None:
        """Leaves exactly these drafts, atomically.

        Raises:
            OSError: the disk refused it; the old drafts are still there.
        """
        secure_write(self._path, b"".join(encode_draft(draft) for draft in drafts))
        self._drafts = list(drafts)

    def set_aside(self, draft: Draft, reason: str) -> None:
        """Keeps a draft that the writer refused, with its reason, where it no longer blocks the others.

        Raises:
            OSError: the disk refused it.
        """
        row = json.dumps({"reason": reason, "draft": json.loads(encode_draft(draft))}, ensure_ascii=False)
        _append_durably(self._refused_path, row.encode() + b"\n")


def waiting_receipts(path: Path) -> int:
    """Counts the receipts of a spool without opening it as one: whoever verifies changes nothing."""
    if not path.exists():
        return 0
    return sum(line.startswith(b'{"kind":"turn"') for line in path.read_bytes().split(b"\n"))


def encode_draft(draft: Draft) -> bytes:
    """Returns a draft as one line of JSON."""
    row = {"kind": _KINDS[type(draft)], **asdict(draft)}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def decode_draft(line: bytes) -> Draft:
    """Returns the draft of a line.

    Raises:
        ValueError, KeyError, TypeError: the line is not one that `encode_draft` made.
    """
    row = json.loads(line)
    match row.pop("kind"):
        case "intent":
            return TurnIntent(**row)
        case "spec":
            return SpecDraft(**{**row, "identity": Identity(**row["identity"])})
        case "decision":
            return DecisionDraft(**{**row, "identity": Identity(**row["identity"])})
        case "turn":
            return _turn(row)
        case other:
            raise ValueError(f"unknown kind of draft {other!r}")


def _turn(row: Mapping[str, Any]) -> TurnReceipt:
    model = row["model"]
    return TurnReceipt(
        **{
            **row,
            "model": ModelUsage(**{**model, "calls": tuple(CallCount(**call) for call in model["calls"])}),
            "tools": tuple(ToolUsage(**tool) for tool in row["tools"]),
            "memory": MemoryUsage(**row["memory"]),
            "decisions": tuple(DecisionRef(**decision) for decision in row["decisions"]),
        }
    )


def _append_durably(path: Path, line: bytes) -> None:
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _cut_torn_tail(descriptor)
        view = memoryview(line)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _cut_torn_tail(descriptor: int) -> None:
    """Removes what an append left that was cut short, so that the next line starts on its own."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.ftruncate(descriptor, os.pread(descriptor, size, 0).rfind(b"\n") + 1)
