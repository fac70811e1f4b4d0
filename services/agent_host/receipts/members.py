"""A turn's receipt as one JSON object: equal in the answer of `ask --json`, in the chat log and in the trace.

The ledger has the same content in its own spelling (receipts.md section 3); `client.py` maps it.
"""

from __future__ import annotations

from dataclasses import asdict

from agent_host.providers.protocol import JsonValue
from agent_host.receipts.drafts import TurnReceipt


def receipt_members(receipt: TurnReceipt) -> dict[str, JsonValue]:
    """Returns the receipt's members, a closed set at every level: names, counts, money in micro-dollars, ids, hashes.

    `model.priced` is in it though not on the ledger: without it a sum of 0 could be mistaken for free.
    """
    members = asdict(receipt)
    for name in ("tools", "decisions"):
        members[name] = list(members[name])
    members["model"]["calls"] = list(members["model"]["calls"])
    return members
