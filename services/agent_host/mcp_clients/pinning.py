"""The tool list of each server as it was accepted, in `host/manifests/<server>.json`, and what it lists now.

A server that changes a tool after it was accepted may mean to steer the model with new words (a "rug pull"): only tools
that are what they were when they were accepted are offered. What a server lists when it is seen for the first time is
taken as it is, as its person has just configured it. This product's own servers are taken at their word too.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from agent_host.identifiers import new_version_id
from agent_host.mcp_clients.private_file import write_private
from agent_host.mcp_clients.remote import RemoteTool, canonical

Tools: TypeAlias = tuple[RemoteTool, ...]
Status: TypeAlias = Literal["seen", "accepted", "refused"]
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_STEM_CHARS: Final = 60

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ManifestVersion:
    """One version of a server's tool list, as the ledger is to know it (L11). `id` makes recording it idempotent."""

    id: str
    server: str
    content_hash: str
    previous_hash: str | None
    source: str
    status: Status


@dataclass(frozen=True)
class Manifest:
    """One server's file. `pending` is what it lists now, while that is not accepted; `refused`: a person said no to it.

    `version` is the product's for a server of its own, else empty. `unrecorded` waits for the ledger.
    """

    server: str
    version: str
    tools: Tools
    pending: Tools | None = None
    refused: bool = False
    unrecorded: tuple[ManifestVersion, ...] = ()


@dataclass(frozen=True)
class Change:
    """How a list differs from the accepted one, by names of tools."""

    changed: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]

    def __str__(self) -> str:
        parts = (("changed", self.changed), ("new", self.new), ("gone", self.gone))
        return "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)


def change_between(accepted: Tools, listed: Tools) -> Change | None:
    """Returns what a server changed, None when it lists just what was accepted, in whatever order."""
    before, now = {tool.name: tool.hash for tool in accepted}, {tool.name: tool.hash for tool in listed}
    change = Change(
        changed=tuple(sorted(name for name in before.keys() & now.keys() if before[name] != now[name])),
        new=tuple(sorted(now.keys() - before.keys())),
        gone=tuple(sorted(before.keys() - now.keys())),
    )
    return change if change.changed or change.new or change.gone else None


def offered(manifest: Manifest) -> Tools:
    """Returns the tools that are still what they were when they were accepted."""
    if manifest.pending is None:
        return manifest.tools
    now = {tool.name: tool.hash for tool in manifest.pending}
    return tuple(tool for tool in manifest.tools if now.get(tool.name) == tool.hash)


def list_hash(tools: Sequence[RemoteTool]) -> str:
    """Returns SHA-256 over the list as canonical JSON (sorted members, no spaces, ASCII), sorted by name."""
    return hashlib.sha256(canonical([asdict(tool) for tool in sorted(tools, key=lambda one: one.name)])).hexdigest()


def first_seen(server: str, listed: Tools, source: str, *, version: str) -> Manifest:
    """Returns the manifest of a server that is seen for the first time; a `version` says that it is one of our own."""
    manifest = Manifest(server, version, listed)
    return manifest if version else _noted(manifest, None, source, "accepted")


def seen(manifest: Manifest, listed: Tools, source: str, *, version: str) -> Manifest:
    """Returns the manifest after a server listed its tools."""
    if version:
        return replace(manifest, version=version, tools=listed, pending=None, refused=False)
    if change_between(manifest.tools, listed) is None:
        return replace(manifest, pending=None, refused=False)
    if manifest.pending is not None and change_between(manifest.pending, listed) is None:
        return manifest
    return _noted(replace(manifest, pending=listed, refused=False), list_hash(manifest.tools), source, "seen")


def accepted(manifest: Manifest, source: str) -> Manifest:
    """Returns the manifest after a person accepted what the server lists now."""
    if manifest.pending is None:
        return manifest
    before = list_hash(manifest.tools)
    return _noted(replace(manifest, tools=manifest.pending, pending=None, refused=False), before, source, "accepted")


def refused(manifest: Manifest, source: str) -> Manifest:
    """Returns the manifest after a person said no: nothing new is offered, and nobody asks again."""
    return _noted(replace(manifest, refused=True), list_hash(manifest.tools), source, "refused")


def _noted(manifest: Manifest, previous_hash: str | None, source: str, status: Status) -> Manifest:
    about = manifest.tools if manifest.pending is None else manifest.pending
    version = ManifestVersion(new_version_id(), manifest.server, list_hash(about), previous_hash, source, status)
    return replace(manifest, unrecorded=(*manifest.unrecorded, version))


class ManifestFolder:
    """The files, one a server."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, server: str) -> Manifest | None:
        """Returns a server's manifest; None when there is none.

        One that cannot be read accepts nothing: it may be what somebody made of it.
        """
        path = self._file(server)
        try:
            return _manifest(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            logger.warning("%s cannot be read; what the server lists has to be accepted anew", path)
            return Manifest(server, "", ())

    def write(self, manifest: Manifest) -> None:
        """Keeps a manifest; one that the disk refuses is known until this process ends."""
        document = {"hash": list_hash(manifest.tools), **asdict(manifest)}
        try:
            write_private(self._file(manifest.server), json.dumps(document, ensure_ascii=False, indent=1) + "\n")
        except OSError as error:
            logger.warning("the manifest of %s cannot be written: %s", manifest.server, error.strerror)

    def _file(self, server: str) -> Path:
        stem = _OTHER.sub("_", server)[:_STEM_CHARS]
        if stem != server:
            stem += "-" + hashlib.sha256(server.encode("utf-8", "replace")).hexdigest()[:8]
        return self._path / f"{stem}.json"


def _manifest(document: Mapping[str, Any]) -> Manifest:
    tools, pending = _tools(document["tools"]), document["pending"]
    if document["hash"] != list_hash(tools):
        raise ValueError("the tools are not those of the hash")
    return Manifest(
        server=document["server"],
        version=document["version"],
        tools=tools,
        pending=None if pending is None else _tools(pending),
        refused=document["refused"] is True,
        unrecorded=tuple(ManifestVersion(**one) for one in document["unrecorded"]),
    )


def _tools(rows: Sequence[Mapping[str, Any]]) -> Tools:
    return tuple(RemoteTool(**row) for row in rows)
