"""What a receipt says to the person who gets it: what happened, what it cost, where it stands, how to check it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipt_writer.page.markup import (
    NOTHING,
    Content,
    Markup,
    block,
    code,
    document,
    download,
    facts,
    folded,
    html_of,
    paragraph,
    section,
    steps,
    table,
)

_MICRO = 1_000_000
_OUTCOMES = {
    "replied": "The agent replied.",
    "limit_reached": "The agent stopped at its limit of model calls.",
    "cancelled": "The person cancelled the turn.",
    "failed": "The turn failed.",
    "interrupted": "The turn began and never reported; the writer recorded that.",
}


@dataclass(frozen=True)
class Covered:
    """The signed tree head that an entry is under, and the C2SP tlog-proof that says so."""

    size: int
    root_hash: str
    proof: str


@dataclass(frozen=True)
class SentReceipt:
    """Everything the page shows of one entry.

    `members` are the members of the stored `line`; `decisions` those of the L12 entries of a turn. `covered` is None
    as long as no checkpoint covers the entry. `fingerprint` is that of the key that signed it; `is_rotated` says that
    the policy leads to that key only through the key log.
    """

    chain: str
    attests: str
    origin: str
    line: bytes
    members: Mapping[str, Any]
    fingerprint: str
    entries: int
    covered: Covered | None
    decisions: Sequence[Mapping[str, Any]] = ()
    is_rotated: bool = False


def receipt_page(receipt: SentReceipt) -> str:
    """Return the page, complete in itself, with nothing to load and no script."""
    members = receipt.members
    is_turn = receipt.chain == "turns"
    told = [_happened(receipt), _cost(members)] if is_turn else [_said(receipt)]
    sections = [*told, _place(receipt), _verifying(receipt), _left_out(receipt)]
    header = Markup(
        paragraph(f"Receipt {members['id']}", kind="number").html
        + f"<h1>{html_of(_OUTCOMES[members['outcome']] if is_turn else _title(receipt.attests))}</h1>"
        + paragraph(
            f"{_spoken(members['recordedAtIso'])} · {members.get('productId', receipt.chain)}", kind="soft"
        ).html
    )
    footer = paragraph(
        "This page is for reading and proves nothing by itself: whoever sends it could have changed it. "
        "The proof above can be checked with one file, offline, without trust in the sender."
    )
    return document(f"Receipt {members['id']} of {receipt.origin}", header, sections, footer)


def _happened(receipt: SentReceipt) -> Markup:
    members = receipt.members
    memory = members["memory"]
    rows: list[tuple[str, Content]] = [
        ("Turn", code(members["turnId"])),
        ("Conversation", code(members["sessionId"])),
        ("Way in", members["gateway"]),
        ("Outcome", members["outcome"]),
        ("Model", members["model"]["id"] or "none"),
        ("Model calls", _times(members["model"]["calls"], "kind") or "none"),
        ("Memory", f"{_count(memory['searches'], 'search', 'searches')}, {memory['used']} used, {memory['kept']} kept"),
    ]
    if memory["unsent"]:
        rows.append(("Waiting", f"{_count(memory['unsent'], 'memory', 'memories')} not stored yet"))
    if memory["reportId"]:
        rows.append(("Report", code(memory["reportId"])))
    tools = [(one["tool"], one["provider"], one["status"], str(one["n"])) for one in members["tools"]]
    used = table("Tools the agent used", ("Tool", "Server", "Status", "Times"), tools) if tools else NOTHING
    return section("What happened", facts(rows), used, _decisions(receipt))


def _decisions(receipt: SentReceipt) -> Markup:
    span = receipt.members["decisions"]
    if not span["n"]:
        return paragraph("No model decision was recorded for this turn.", kind="soft")
    if not receipt.decisions:
        return paragraph(f"{span['n']} model decisions, entries {span['firstId']} to {span['lastId']} of that chain.")
    rows = [
        (
            str(one["id"]),
            one["specId"],
            one["category"],
            f"{one['modelIdentity']['provider']} {one['modelIdentity']['model']}",
            one.get("exitState", "-"),
            f"{one['latencyMs']} ms",
        )
        for one in receipt.decisions
    ]
    return table("Model decisions of this turn", ("Entry", "Spec", "Category", "Model", "Exit", "Time"), rows)


def _cost(members: Mapping[str, Any]) -> Markup:
    model = members["model"]
    tokens = f"{model['inputTokens']:,} tokens in, {model['outputTokens']:,} out"
    cached = model["cacheReadTokens"] + model["cacheWriteTokens"]
    tokens += f", {cached:,} cached" if cached else ""
    estimate = "computed from a price table" if model["estimated"] else "as the provider stated it"
    rows = [(f"Model {model['id']}", f"{tokens}; {estimate}", _money(model["costMicroUsd"]))]
    rows += [
        (f"Tool {one['tool']}", _count(one["n"], "use", "uses"), _money(one["costMicroUsd"]))
        for one in members["tools"]
        if one["costMicroUsd"] is not None
    ]
    total = ("Total", "", _money(members["totalMicroUsd"]))
    return section("What it cost", table("In US dollars", ("For", "How much", "Cost"), rows, total))


def _said(receipt: SentReceipt) -> Markup:
    chained = {"id", "recordedAtMs", "recordedAtIso", "prevHash", "hash", "attestation"}
    rows = [(name, _value(value)) for name, value in receipt.members.items() if name not in chained]
    return section("What is recorded", facts(rows))


def _place(receipt: SentReceipt) -> Markup:
    members, covered = receipt.members, receipt.covered
    rows: list[tuple[str, Content]] = [
        ("Chain", code(receipt.origin)),
        ("Entry", f"{members['id']} of {receipt.entries} when this page was made"),
        ("Recorded", members["recordedAtIso"]),
        ("Hash", code(members["hash"])),
        ("Entry before", code(members["prevHash"])),
        ("Signed by key", code(receipt.fingerprint)),
    ]
    if covered:
        rows += [("Checkpoint", f"over {covered.size} entries"), ("Tree root", code(covered.root_hash))]
        told = paragraph(
            "Its hash covers the entry before it, and the checkpoint's root covers every entry up to its size."
        )
    else:
        told = paragraph(
            "No checkpoint covers this entry yet, so there is no proof to hand over; ask for the page again."
        )
    return section("Its place in the chain", facts(rows), told)


def _verifying(receipt: SentReceipt) -> Markup:
    if receipt.covered is None:
        return NOTHING
    number, chain = receipt.members["id"], receipt.chain
    proof = f"receipt-{chain}-{number}.tlog-proof"
    options = f"{proof} --policy policy-{chain}.json" + (" --key-log keys.jsonl" if receipt.is_rotated else "")
    handed = " and <code>keys.jsonl</code>, the key log," if receipt.is_rotated else ""
    leads = "lead to" if receipt.is_rotated else "name"
    return section(
        "How to verify it",
        steps(
            Markup(f"Save the proof: {download(proof, receipt.covered.proof.encode()).html}"),
            Markup(
                f"Get <code>policy-{html_of(chain)}.json</code>{handed} and a verifier, <code>verify.py</code> or "
                "<code>verify.mjs</code>, from somebody you trust, not from whoever sent you this page. The policy "
                f"must {leads} the key {code(receipt.fingerprint).html}."
            ),
            Markup(
                "Run either of these; both say the same. With <code>-I</code> Python takes no module from the folder "
                "that the verifier lies in, where somebody could have put one."
                + block(f"python -I verify.py {options}\nnode verify.mjs {options}").html
            ),
        ),
        folded("The stored entry", block(receipt.line.decode())),
        folded("The proof", block(receipt.covered.proof.removesuffix("\n"))),
    )


def _left_out(receipt: SentReceipt) -> Markup:
    secret = receipt.members.get("commitment") == "hmac-sha256"
    committed = (
        "Messages, replies, arguments and results are not in a receipt. It holds keyed hashes of them: their owner can "
        "disclose one, and nobody can guess it."
        if secret
        else "Messages, replies, arguments and results are not in a receipt; at most a hash of them."
    )
    limits = (
        "A proof that holds shows that this entry was recorded and not changed since. It does not show that what it "
        "says is true, that every act was recorded, or that the clock was right."
    )
    return section("What it does not say", paragraph(committed), paragraph(limits))


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _times(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    return ", ".join(f"{row[name]} {row['n']}" for row in rows)


def _value(value: object) -> Content:
    if isinstance(value, str):
        return value or "empty"
    return code(json.dumps(value, ensure_ascii=False))


def _money(micro_usd: int) -> str:
    return f"${micro_usd / _MICRO:.6f}"


def _title(attests: str) -> str:
    return attests[:1].upper() + attests[1:]


def _spoken(iso: str) -> str:
    return f"{iso[:10]} {iso[11:19]} UTC"
