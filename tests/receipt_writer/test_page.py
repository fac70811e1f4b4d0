from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from receipt_writer.format.chain import genesis_head, next_entry
from receipt_writer.format.entry import Entry
from receipt_writer.page.receipt_page import Covered, SentReceipt, receipt_page
from tests.pages import Page, assert_still
from tests.receipt_writer.format.material import START_MS, entry_signer
from tests.receipt_writer.parts import decision, turn

PROOF = "c2sp.org/tlog-proof@v1\nextra YQ==\nindex 0\n\nexample/turns/-\n1\nYQ==\n\n\u2014 example/turns/- YQ==\n"


def entry_of(draft: dict[str, Any], layer: str = "L10") -> Entry:
    head = genesis_head("example/turns/-")
    return next_entry(head, layer, "v2", draft, now_ms=START_MS, tenant_id=None, signer=entry_signer())[0]


def page(draft: dict[str, Any], **changes: Any) -> Page:
    line = entry_of(draft).line
    fields: dict[str, Any] = {
        "chain": "turns",
        "attests": "one agent turn's receipt",
        "origin": "example/turns/-",
        "line": line,
        "members": json.loads(line),
        "fingerprint": "ab" * 32,
        "entries": 3,
        "covered": Covered(3, "cd" * 32, PROOF),
    }
    return Page(receipt_page(SentReceipt(**fields | changes)))


def model(**changes: Any) -> dict[str, Any]:
    return {**turn(1)["model"], **changes}


def test_the_page_tells_what_happened_what_it_cost_and_where_it_stands() -> None:
    tools = [{"tool": "web_search", "provider": "search", "status": "ok", "n": 2, "costMicroUsd": 5000}]
    shown = page(turn(1, tools=tools, model=model(id="rules-9", costMicroUsd=64_420), totalMicroUsd=69_420))
    for told in ("The agent replied.", "web_search", "rules-9", "$0.064420", "$0.005000", "$0.069420", "2 uses"):
        assert told in shown.text
    for told in ("example/turns/-", "1 of 3", "ab" * 32, "cd" * 32, entry_of(turn(1)).prev_hash):
        assert told in shown.text


def test_the_decisions_of_a_turn_are_listed() -> None:
    spans = {"n": 1, "firstId": 7, "lastId": 7}
    made = decision(1, specId="retrieval-gate") | {"id": 7}
    assert "retrieval-gate" in page(turn(1, decisions=spans), decisions=[made]).text
    assert "entries 7 to 7 of that chain" in page(turn(1, decisions=spans)).text


def test_the_proof_is_in_the_page_and_can_be_saved() -> None:
    (link,) = page(turn(1)).named("a")
    assert link["download"] == "receipt-turns-1.tlog-proof"
    assert base64.b64decode(str(link["href"]).partition(",")[2]).decode() == PROOF


def test_the_page_is_one_file_that_loads_nothing_and_runs_nothing() -> None:
    shown = page(turn(1))
    assert_still(shown)
    policies = [meta["content"] for meta in shown.named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", '"><img src=x onerror=y>', "&lt;b&gt;", "]]>--><!--"])
def test_text_of_an_entry_is_text_on_the_page(hostile: str) -> None:
    tools = [{"tool": hostile, "provider": hostile, "status": "ok", "n": 1, "costMicroUsd": 1}]
    plain = page(turn(1, tools=[tools[0] | {"tool": "x", "provider": "y"}], productId="z", model=model(id="m")))
    shown = page(turn(1, tools=tools, productId=hostile, model=model(id=hostile)))
    assert [tag for tag, _ in shown.tags] == [tag for tag, _ in plain.tags]
    assert shown.text.count(hostile) >= 4


def test_characters_that_turn_the_reading_direction_are_spelled_out() -> None:
    shown = page(turn(1, productId="a\u202eb\x1b[2J"))
    assert "a\\u202eb\\x1b[2J" in shown.text
    assert "\u202e" not in shown.text


def test_an_entry_without_a_proof_offers_none() -> None:
    shown = page(turn(1), covered=None)
    assert "No checkpoint covers this entry yet" in shown.text
    assert shown.named("a") == []


def test_after_a_rotation_the_reader_is_told_of_the_key_log() -> None:
    assert "--key-log keys.jsonl" in page(turn(1), is_rotated=True).text
    assert "--key-log" not in page(turn(1)).text


@pytest.mark.parametrize(("commitment", "told"), [("hmac-sha256", "keyed hashes"), ("sha256", "at most a hash")])
def test_the_page_says_what_it_does_not_hold(commitment: str, told: str) -> None:
    text = page(turn(1, commitment=commitment)).text
    assert told in text
    assert "It does not show that what it says is true" in text


def test_an_entry_of_another_layer_shows_its_members() -> None:
    line = entry_of(decision(1, specId="turn-router"), "L12").line
    shown = page(turn(1), chain="decisions", attests="one model call", line=line, members=json.loads(line))
    assert "One model call" in shown.text
    assert "turn-router" in shown.text
