"""Gathering what a person hands to somebody else: one receipt as a page, with the proof that comes with it."""

import json
from pathlib import Path
from typing import Any

from receipt_writer.errors import NotPossibleYetError
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import Filter
from receipt_writer.offline import OfflineChain, open_chain, read_policy
from receipt_writer.page.receipt_page import Covered, SentReceipt, receipt_page
from receipt_writer.query import StoredEntry
from receipt_writer.tables import key_fingerprint


def page_of(folder: Path, layer: str, name: str) -> str:
    """Return the page of the entry that a person names by its id, turnId or callId.

    Raises:
        EntryNotFoundError: There is none.
        LedgerDamagedError: The entry, or what its checkpoint was signed over, is not what was recorded.
        SetupError: There is no ledger, or no policy file, in the folder.
    """
    with open_chain(folder, layer) as opened:
        entry = opened.entry(opened.id_of(name))
        members: dict[str, Any] = json.loads(entry.line)
        covered = _covered(opened, entry)
        origin, entries = opened.index.origin, opened.index.head.size
    signer = members["attestation"]["publicKey"]
    named = {key["publicKey"] for key in json.loads(read_policy(folder, LAYERS[layer].chain).to_json())["keys"]}
    return receipt_page(
        SentReceipt(
            chain=LAYERS[layer].chain,
            attests=LAYERS[layer].attests,
            origin=origin,
            line=entry.line,
            members=members,
            fingerprint=key_fingerprint(signer),
            entries=entries,
            covered=covered,
            decisions=_decisions(folder, members) if layer == "L10" else (),
            is_rotated=signer not in named,
        )
    )


def _covered(opened: OfflineChain, entry: StoredEntry) -> Covered | None:
    try:
        proof = opened.proof(entry)
    except NotPossibleYetError:
        return None
    head = proof.checkpoint.checkpoint
    return Covered(head.size, head.root_hash.hex(), proof.text())


def _decisions(folder: Path, turn: dict[str, Any]) -> list[dict[str, Any]]:
    if not turn["decisions"]["n"]:
        return []
    with open_chain(folder, "L12") as opened:
        entries, _ = opened.entries(Filter(members=(("turnId", turn["turnId"]),)))
        return [json.loads(entry.line) for entry in entries]
