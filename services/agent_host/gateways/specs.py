"""`agent-host specs list|show`: the specs that are registered on the ledger (L2), and the bytes behind their hashes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack

from agent_host.app import open_desk
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable
from agent_host.receipts.client import SPECS
from agent_host.receipts.protocol import StoredEntry
from service_runtime.settings import Settings


async def list_specs(settings: Settings, environ: Mapping[str, str], *, as_json: bool) -> int:
    """Prints the registered specs, one a line, oldest first, with the hash that decisions under them carry.

    Raises:
        WriterUnavailableError: no writer runs and none can be started.
    """
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        await desk.link.connect()
        entries = [entry async for entry in desk.link.client.entries(SPECS)]
        kept = {spec_hash for spec_hash, _ in desk.store.spec_bodies()}
    if as_json:
        sys.stdout.write(json.dumps([json.loads(entry.line) for entry in entries], ensure_ascii=False) + "\n")
    elif not entries:
        sys.stdout.write("No spec is registered yet; the first call under one registers it.\n")
    for entry in entries if not as_json else ():
        sys.stdout.write(_line(entry, kept) + "\n")
    return 0


async def show_spec(settings: Settings, environ: Mapping[str, str], wanted: str) -> int:
    """Prints the RFC 8785 bytes of a spec that this home has used, and nothing else: their SHA-256 is the spec's hash.

    `wanted` is the hash or its beginning. Nothing is asked of the writer.

    Raises:
        UsageError: no spec of this home, or more than one, has such a hash, or its bytes were changed.
    """
    async with AsyncExitStack() as resources:
        store = open_desk(settings, environ, resources).store
        found = [row for row in store.spec_bodies() if row[0].startswith(wanted.lower())]
    if not found:
        raise UsageError(f"No spec of this home has the hash {wanted[:64]!r}; `agent-host specs list` shows them.")
    if len(found) > 1:
        raise UsageError(f"{len(found)} specs have a hash that begins with {wanted[:64]!r}; name more of it.")
    spec_hash, body = found[0]
    if hashlib.sha256(body).hexdigest() != spec_hash:
        raise UsageError(f"The bytes kept for {spec_hash} are not those of the spec; put host/calls.db back.")
    sys.stdout.buffer.write(body)
    return 0


def _line(entry: StoredEntry, kept: Collection[str]) -> str:
    body = json.loads(entry.line)
    identity = body["modelIdentity"]
    parts = [f"#{entry.id}", body["recordedAtIso"], body["specId"], f"{identity['provider']}/{identity['model']}"]
    parts += [body["specHash"], *([] if body["specHash"] in kept else ["(its bytes are not on this home)"])]
    return printable("  ".join(parts))
