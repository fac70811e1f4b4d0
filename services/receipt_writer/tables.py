"""Entries as rows for people: which members of a layer's entries a table shows, and under which titles.

A layer without columns of its own is shown by the members that every entry has, and by its idempotency key.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import fingerprint

_SHOWN = 12  # of a hash or fingerprint: enough to tell two apart by eye
_MICRO = 1_000_000

Members = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column: its title, and how an entry's members fill it."""

    title: str
    cell: Callable[[Members], str]


def columns(layer: str) -> tuple[Column, ...]:
    """Return the columns of a layer's table; `id` and the time come first everywhere."""
    return (_text("id"), _text("recorded", "recordedAtIso"), *_COLUMNS.get(layer, _known_by(layer)))


def short(hash_or_fingerprint: str) -> str:
    """Return the beginning of a hash, for tables only."""
    return f"{hash_or_fingerprint[:_SHOWN]}…"


def key_fingerprint(public_key: str) -> str:
    """Return the fingerprint of a key that an entry spells in base64."""
    return fingerprint(base64.b64decode(public_key))


def _text(title: str, member: str | None = None) -> Column:
    name = member or title
    return Column(title, lambda entry: str(entry.get(name, "-")))


def _known_by(layer: str) -> tuple[Column, ...]:
    keys = (form.idempotency_key for form in LAYERS[layer].forms.values())
    return tuple(_text(name) for key in keys for name in key)


def _tools(entry: Members) -> str:
    return " ".join(f"{tool['tool']}:{tool['n']}" for tool in entry["tools"]) or "-"


def _model(entry: Members) -> str:
    return f"{entry['modelIdentity']['provider']} {entry['modelIdentity']['model']}"


_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "L1": (
        Column("chains", lambda entry: str(len(entry["chains"]))),
        Column("entries", lambda entry: str(sum(row["size"] for row in entry["chains"]))),
    ),
    "L2": (
        _text("spec", "specId"),
        _text("category"),
        Column("model", _model),
        Column("spec hash", lambda entry: short(entry["specHash"])),
        _text("bytes", "specBytes"),
    ),
    "L3": (
        _text("event"),
        _text("use"),
        Column("key", lambda entry: short(key_fingerprint(entry["publicKey"]))),
        _text("reason"),
    ),
    "L4": (_text("version"), _text("gate", "gateVerdict"), _text("build", "buildId")),
    "L5": (
        _text("call", "callId"),
        _text("client"),
        _text("server"),
        _text("tool"),
        _text("state"),
        _text("ms", "latencyMs"),
    ),
    "L6": (_text("review", "reviewId"), _text("decision", "decisionId"), _text("reviewer"), _text("verdict")),
    "L7": (_text("reason"), _text("state", "stateId"), _text("chains"), _text("entries")),
    "L10": (
        _text("turn", "turnId"),
        _text("gateway"),
        _text("outcome"),
        Column("model", lambda entry: str(entry["model"]["id"])),
        Column("tools", _tools),
        Column("decisions", lambda entry: str(entry["decisions"]["n"])),
        Column("cost", lambda entry: f"${entry['totalMicroUsd'] / _MICRO:.6f}"),
    ),
    "L11": (_text("kind"), _text("name"), _text("version"), _text("status"), _text("source")),
    "L12": (
        _text("call", "callId"),
        _text("spec", "specId"),
        _text("category"),
        Column("model", _model),
        _text("exit", "exitState"),
        _text("ms", "latencyMs"),
    ),
}
