"""RF-17, RF-22: what a checkpoint proves, and what is no evidence at all."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.verifier import ledger
from tests.verifier.conftest import Judge

NO_EVIDENCE = (None, None, None)
PASS = ("PASS", None, None)
OTHER_CHECKPOINT_KEY = SigningKey(b"another checkpoint key, 32 bytes")


@pytest.fixture(scope="module")
def chain() -> ledger.Chain:
    return ledger.Chain().fill(9)


def rewritten() -> ledger.Chain:
    """The same chain with another third entry, signed with the true key throughout."""
    return ledger.Chain().fill(2).add(ledger.decision(3, latencyMs=1)).fill(9)


def test_the_root_at_every_size_is_met(chain: ledger.Chain, judge: Judge) -> None:
    for size in range(10):
        outcome = judge(chain, checkpoints=[chain.checkpoint(size)])
        assert outcome.found == PASS
        assert outcome.report["checkpoints"] == [{"size": size, "ok": True}]


def test_all_checkpoints_given_must_be_met_in_any_order(chain: ledger.Chain, judge: Judge) -> None:
    sizes = [9, 0, 4, 1, 8, 4]

    outcome = judge(chain, checkpoints=[chain.checkpoint(size) for size in sizes])

    assert outcome.found == PASS
    assert outcome.report["checkpoints"] == [{"size": size, "ok": True} for size in sizes]
    assert outcome.report["rootHash"] == ledger.tree_root(chain.lines).hex()


@pytest.mark.parametrize("size", [10, 11, 1000, 999_999_999_999_999])
def test_a_chain_shorter_than_a_checkpoint_is_truncated(size: int, chain: ledger.Chain, judge: Judge) -> None:
    outcome = judge(chain, checkpoints=[chain.checkpoint(4), chain.checkpoint(size)])

    assert outcome.found == ("TRUNCATED", None, "checkpoint")
    assert [met["ok"] for met in outcome.report["checkpoints"]] == [True, False]


@pytest.mark.parametrize("kept", range(9))
def test_every_cut_is_seen_against_the_last_checkpoint(kept: int, chain: ledger.Chain, judge: Judge) -> None:
    cut = ledger.Chain(lines=chain.lines[:kept])

    assert judge(cut, checkpoints=[chain.checkpoint(9)]).found == ("TRUNCATED", None, "checkpoint")


@pytest.mark.parametrize("size", [3, 4, 5, 8, 9])
def test_history_rewritten_with_the_true_key_is_a_fork(size: int, chain: ledger.Chain, judge: Judge) -> None:
    assert judge(rewritten(), checkpoints=[chain.checkpoint(size)]).found == ("FORKED", None, "checkpoint")
    assert judge(rewritten(), checkpoints=[chain.checkpoint(2), chain.checkpoint(size)]).exit == 5


def test_a_checkpoint_from_before_the_rewriting_shows_nothing(chain: ledger.Chain, judge: Judge) -> None:
    assert judge(rewritten(), checkpoints=[chain.checkpoint(size) for size in (0, 1, 2)]).found == PASS


def test_an_entry_signed_anew_is_a_fork_though_its_hash_is_the_same(chain: ledger.Chain, judge: Judge) -> None:
    again = ledger.Chain().fill(2).add(ledger.decision(3), at=ledger.iso(ledger.START_MS)).fill(9)

    assert again.head == chain.head
    assert judge(again, checkpoints=[chain.checkpoint(9)]).found == ("FORKED", None, "checkpoint")


@pytest.mark.parametrize("size", [0, 5, 9])
def test_a_signed_root_that_is_wrong_is_a_fork(size: int, chain: ledger.Chain, judge: Judge) -> None:
    outcome = judge(chain, checkpoints=[chain.checkpoint(size, root=b"\x07" * 32)])

    assert outcome.found == ("FORKED", None, "checkpoint")
    assert outcome.report["checkpoints"] == [{"size": size, "ok": False}]


def test_truncated_comes_before_forked(chain: ledger.Chain, judge: Judge) -> None:
    signed = [chain.checkpoint(5, root=b"\x07" * 32), chain.checkpoint(10)]

    assert judge(chain, checkpoints=signed).found == ("TRUNCATED", None, "checkpoint")


def test_a_bad_line_comes_before_what_checkpoints_say(chain: ledger.Chain, judge: Judge) -> None:
    broken = ledger.Chain(lines=[*chain.lines[:4], b"garbage"])

    outcome = judge(broken, checkpoints=[chain.checkpoint(9), chain.checkpoint(2, root=b"\x07" * 32)])

    assert outcome.found == ("MALFORMED", 5, "encoding")
    assert [met["ok"] for met in outcome.report["checkpoints"]] == [None, None]


def test_only_a_checkpoint_key_of_the_policy_makes_evidence(chain: ledger.Chain, judge: Judge) -> None:
    for key in (ledger.ENTRY_KEY, ledger.OTHER_KEY, OTHER_CHECKPOINT_KEY):
        assert judge(chain, checkpoints=[chain.checkpoint(9, key=key)]).found == NO_EVIDENCE
    assert judge(chain, checkpoints=[chain.checkpoint(9)], policy=None).found == NO_EVIDENCE
    trusted = ["--trusted-key", ledger.public(ledger.ENTRY_KEY), "--trusted-key", ledger.public(ledger.CHECKPOINT_KEY)]
    assert judge(chain, *trusted, checkpoints=[chain.checkpoint(9)], policy=None).found == NO_EVIDENCE
    entry_only = ledger.policy(keys=[ledger.trust(ledger.ENTRY_KEY)])
    assert judge(chain, checkpoints=[chain.checkpoint(9)], policy=entry_only).found == NO_EVIDENCE


@pytest.mark.parametrize(
    "origin", ["other.example/decisions/-", "prometheus.example/turns/-", ledger.ORIGIN + " ", ledger.ORIGIN.upper()]
)
def test_a_checkpoint_of_another_log_is_no_evidence(origin: str, chain: ledger.Chain, judge: Judge) -> None:
    assert judge(chain, checkpoints=[chain.checkpoint(9, origin=origin)]).found == NO_EVIDENCE
    head = base64.b64encode(ledger.tree_root(chain.lines)).decode()
    assert (
        judge(chain, checkpoints=[ledger.note(f"{origin}\n9\n{head}\n", ledger.ORIGIN, ledger.CHECKPOINT_KEY)]).found
        == NO_EVIDENCE
    )
    assert (
        judge(chain, checkpoints=[ledger.note(f"{ledger.ORIGIN}\n9\n{head}\n", origin, ledger.CHECKPOINT_KEY)]).found
        == NO_EVIDENCE
    )


@pytest.mark.parametrize(
    ("ids", "sizes", "refused"),
    [
        ({"toId": 5}, [0, 1, 5], [6, 9]),
        ({"fromId": 5}, [5, 9], [0, 1, 4]),
        ({"fromId": 1, "toId": 1}, [0, 1], [2]),
        ({"toId": 0}, [], [0, 1]),
    ],
    ids=str,
)
def test_a_checkpoint_key_counts_in_its_range(
    ids: dict[str, int], sizes: list[int], refused: list[int], chain: ledger.Chain, judge: Judge
) -> None:
    policy = ledger.policy(
        keys=[ledger.trust(ledger.ENTRY_KEY), ledger.trust(ledger.CHECKPOINT_KEY, "checkpoint", **ids)]
    )

    assert all(judge(chain, policy=policy, checkpoints=[chain.checkpoint(size)]).found == PASS for size in sizes)
    assert all(
        judge(chain, policy=policy, checkpoints=[chain.checkpoint(size)]).found == NO_EVIDENCE for size in refused
    )


def head(chain: ledger.Chain) -> str:
    return base64.b64encode(ledger.tree_root(chain.lines)).decode()


def test_lines_of_strangers_and_extensions_do_not_spoil_a_note(chain: ledger.Chain, judge: Judge) -> None:
    text = f"{ledger.ORIGIN}\n9\n{head(chain)}\nan extension\nanother\n"
    key = ledger.CHECKPOINT_KEY

    assert judge(chain, checkpoints=[ledger.note(text, ledger.ORIGIN, key, ledger.OTHER_KEY)]).found == PASS
    assert judge(chain, checkpoints=[ledger.note(text, ledger.ORIGIN, ledger.OTHER_KEY, key)]).found == PASS
    witnessed = (
        ledger.note(text, ledger.ORIGIN, key)
        + "— witness.example/w1 ".encode()
        + base64.b64encode(b"\x04" * 76)
        + b"\n"
    )
    assert judge(chain, checkpoints=[witnessed]).found == PASS
    assert judge(chain, checkpoints=[ledger.note(text, ledger.ORIGIN, key, key)]).found == PASS


def test_one_wrong_signature_under_the_trusted_name_and_key_spoils_the_note(chain: ledger.Chain, judge: Judge) -> None:
    good = chain.checkpoint(9)
    wrong = chain.checkpoint(8).split(b"\n\n")[1]

    assert judge(chain, checkpoints=[good + wrong]).found == NO_EVIDENCE
    assert judge(chain, checkpoints=[good.replace(b"\n9\n", b"\n8\n")]).found == NO_EVIDENCE
    line = good.split(b"\n\n")[1].split(b" ")
    short = b" ".join([*line[:2], base64.b64encode(base64.b64decode(line[2])[:-1])]) + b"\n"
    assert judge(chain, checkpoints=[good + short]).found == NO_EVIDENCE


def variants(text: str) -> dict[str, bytes]:
    good = ledger.note(text, ledger.ORIGIN, ledger.CHECKPOINT_KEY)
    origin, size, root, _ = text.split("\n")

    def signed(*lines: str) -> bytes:
        return ledger.note("\n".join(lines) + "\n", ledger.ORIGIN, ledger.CHECKPOINT_KEY)

    return {
        "empty": b"",
        "no signature": text.encode(),
        "no empty line": good.replace(b"\n\n", b"\n"),
        "no last line feed": good[:-1],
        "an empty line more at the end": good + b"\n",
        "carriage returns": good.replace(b"\n", b"\r\n"),
        "a hyphen for the dash": good.replace("—".encode(), b"-"),
        "a byte order mark": b"\xef\xbb\xbf" + good,
        "size with a zero in front": signed(origin, "0" + size, root),
        "size with a plus": signed(origin, "+" + size, root),
        "negative size": signed(origin, "-1", root),
        "size in hex": signed(origin, "0x9", root),
        "size as a fraction": signed(origin, "9.0", root),
        "huge size": signed(origin, "9" * 30, root),
        "no size": signed(origin, "", root),
        "no root": signed(origin, size),
        "short root": signed(origin, size, root[:-4]),
        "unpadded root": signed(origin, size, root[:-1]),
        "loose root": signed(origin, size, root[:-2] + "B="),
        "root in hex": signed(origin, size, "ab" * 32),
        "lines in another order": signed(size, origin, root),
        "an empty line in the text": signed(origin, size, root, "", "x"),
        "signature that is no base64": good.rsplit(b" ", 1)[0] + b" not-base64\n",
        "signature cut": good[:-10] + b"\n",
        "only a stranger's signature": ledger.note(text, ledger.ORIGIN, ledger.OTHER_KEY),
        "garbage": bytes(range(256)),
        "JSON": b'{"origin":"x","size":9}',
    }


@pytest.mark.parametrize("name", variants("a\n1\nb\n"))
def test_what_is_no_signed_note_is_no_evidence(name: str, chain: ledger.Chain, judge: Judge) -> None:
    text = f"{ledger.ORIGIN}\n9\n{head(chain)}\n"

    outcome = judge(chain, checkpoints=[variants(text)[name]])

    assert (outcome.exit, outcome.stdout) == (2, "")
    assert "checkpoint" in outcome.stderr


@pytest.mark.parametrize(
    ("asked", "verdict"), [(0, "PASS"), (8, "PASS"), (9, "PASS"), (10, "TRUNCATED"), (999_999_999_999_999, "TRUNCATED")]
)
def test_a_chain_shorter_than_asked_is_truncated(asked: int, verdict: str, chain: ledger.Chain, judge: Judge) -> None:
    assert judge(chain, "--min-entries", str(asked)).found == (
        verdict,
        None,
        None if verdict == "PASS" else "min-entries",
    )


HOUR = 3_600_000
AGED: list[tuple[str, int, str]] = [
    ("24h", 23 * HOUR, "PASS"),
    ("24h", 24 * HOUR, "PASS"),
    ("24h", 24 * HOUR + 1, "STALE"),
    ("90m", HOUR, "PASS"),
]
AGED += [
    ("0s", 0, "PASS"),
    ("0s", 1, "STALE"),
    ("1d", 25 * HOUR, "STALE"),
    ("999999999d", 10**12, "PASS"),
    ("1s", -HOUR, "PASS"),
]


@pytest.mark.parametrize(("age", "later_ms", "verdict"), AGED)
def test_an_old_checkpoint_is_stale(age: str, later_ms: int, verdict: str, chain: ledger.Chain, judge: Judge) -> None:
    newest_ms = ledger.START_MS + 5000
    signed = [chain.checkpoint(2), chain.checkpoint(5), chain.checkpoint(0)]

    outcome = judge(chain, "--max-age", age, checkpoints=signed, now_ms=newest_ms + later_ms)

    assert outcome.found == (verdict, None, None if verdict == "PASS" else "max-age")


@pytest.mark.parametrize("checkpoints", [[], [0]], ids=["none", "of nothing"])
def test_without_a_checkpoint_nothing_shows_that_a_chain_is_fresh(
    checkpoints: list[int], chain: ledger.Chain, judge: Judge
) -> None:
    signed: list[Any] = [chain.checkpoint(size) for size in checkpoints]

    assert judge(chain, "--max-age", "999999999d", checkpoints=signed, now_ms=ledger.START_MS).found == (
        "STALE",
        None,
        "max-age",
    )
