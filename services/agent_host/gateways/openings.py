"""`agent-host reveal` and `forget`: what a receipt committed to, shown or erased (receipts.md section 5)."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final

from agent_host.app import open_desk
from agent_host.errors import UsageError
from agent_host.gateways.screen import printable
from agent_host.receipts.commitments import SCHEME, Opening, digest_of
from service_runtime.settings import Settings

KEPT_ELSEWHERE: Final = (
    "The conversation itself is not touched: host/sessions.db and host/traces may still hold its words."
)


async def reveal(settings: Settings, environ: Mapping[str, str], owner_id: str, *, as_json: bool) -> int:
    """Prints the openings of a call, turn or review: value, key, and the commitment that they open.

    Who is given one can compute the commitment and look it up on the ledger; nothing is asked of the writer here.

    Raises:
        UsageError: there is none under this id.
    """
    async with AsyncExitStack() as resources:
        found = open_desk(settings, environ, resources).openings.of(owner_id)
    if not found:
        raise UsageError(f"There is no opening of {owner_id[:40]!r}: it was forgotten, or was never made on this home.")
    if as_json:
        sys.stdout.write(json.dumps([_document(one) for one in found], ensure_ascii=False) + "\n")
        return 0
    for one in found:
        sys.stdout.write(printable(f"{one.field} {digest_of(one)}\n  {one.value.decode()}") + "\n")
    return 0


async def forget(settings: Settings, environ: Mapping[str, str], owner_id: str) -> int:
    """Erases the openings of a call, turn or review and what else was kept of it, a call's review with it.

    Raises:
        UsageError: there is nothing under this id.
    """
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        review = desk.store.review(owner_id)
        erased = desk.openings.forget(owner_id) + desk.store.forget(owner_id)
        if review is not None and review.ruling is not None:
            erased += desk.openings.forget(str(review.ruling["reviewId"]))
    if not erased:
        raise UsageError(f"There is nothing of {owner_id[:40]!r} to forget: it was forgotten before, or never was.")
    sys.stdout.write(
        f"Forgot {owner_id}. Its receipt still verifies, and nobody can tell any more what it said.\n{KEPT_ELSEWHERE}\n"
    )
    return 0


def _document(opening: Opening) -> dict[str, object]:
    return {
        "owner_id": opening.owner_id,
        "field": opening.field,
        "commitment": SCHEME,
        "digest": digest_of(opening),
        "key": base64.b64encode(opening.key).decode(),
        "value": json.loads(opening.value),
    }
