"""RF-1, RF-22: what stands after the last line feed, and two copies of one chain."""

from __future__ import annotations

import pytest

from tests.verifier import ledger
from tests.verifier.conftest import Judge

PASS = ("PASS", None, None)
TORN = ("TORN_TAIL", None, "framing")


@pytest.fixture(scope="module")
def chain() -> ledger.Chain:
    return ledger.Chain().fill(4)


def test_every_cut_inside_the_last_line_is_a_torn_tail(chain: ledger.Chain, judge: Judge) -> None:
    whole = chain.content
    start = len(whole) - len(chain.lines[-1]) - 1

    for end in [*range(start + 1, len(whole), 23), len(whole) - 2, len(whole) - 1]:
        outcome = judge(whole[:end], text_too=False)
        assert outcome.found == TORN
        assert (outcome.report["offset"], outcome.report["entries"]) == (start, 3)
    assert judge(whole[:start]).found == PASS


@pytest.mark.parametrize(
    "tail",
    [
        b"x",
        b"\x00",
        b"\x00" * 4096,
        b"\r",
        b"\xff",
        b" ",
        b"{",
        b"null",
        b"\xe2\x80\xa8",
        b"x" * 65_536,
        b"x" * 65_537,
        b"x" * 700_000,
    ],
    ids=lambda tail: f"{len(tail)} of {tail[:1]!r}",
)
def test_any_bytes_after_the_last_line_feed_are_a_torn_tail(tail: bytes, chain: ledger.Chain, judge: Judge) -> None:
    outcome = judge(chain.content + tail)

    assert outcome.found == TORN
    assert outcome.report["offset"] == len(chain.content)
    assert any(f"{len(tail)} bytes after the last line break" in note for note in outcome.report["notes"])
    assert outcome.report["headHash"] == chain.head
    assert judge(tail).found == TORN


def test_a_bad_line_before_a_torn_tail_decides(chain: ledger.Chain, judge: Judge) -> None:
    torn = chain.content[:-9]

    assert judge(torn.replace(b'"latencyMs":1202', b'"latencyMs":1203')).found == ("TAMPERED", 2, "hash")
    assert judge(b"\n" + torn).found == ("MALFORMED", 1, "encoding")
    assert judge(torn.replace(b'"router"', b'"oracle"')).found == ("MALFORMED", 1, "schema")


def test_what_is_missing_comes_before_what_is_torn(chain: ledger.Chain, judge: Judge) -> None:
    torn = chain.content[:-1]

    assert judge(torn, checkpoints=[chain.checkpoint(4)]).found == ("TRUNCATED", None, "checkpoint")
    assert judge(torn, "--min-entries", "4").found == ("TRUNCATED", None, "min-entries")
    assert judge(torn, checkpoints=[chain.checkpoint(3, root=bytes(32))]).found == ("FORKED", None, "checkpoint")
    assert judge(torn, "--max-age", "1s", checkpoints=[chain.checkpoint(3)]).found == TORN
    assert judge(torn, checkpoints=[chain.checkpoint(3)]).found == TORN


def test_an_empty_file_is_a_sound_chain_of_nothing(chain: ledger.Chain, judge: Judge) -> None:
    outcome = judge(b"")

    assert outcome.found == PASS
    assert outcome.report["headHash"] is None
    assert outcome.report["rootHash"] == ledger.sha("")
    assert judge(b"\n").found == ("MALFORMED", 1, "encoding")
    assert judge(b"", checkpoints=[chain.checkpoint(0)]).found == PASS
    assert judge(b"", checkpoints=[chain.checkpoint(1)]).found == ("TRUNCATED", None, "checkpoint")
    assert judge(b"", "--min-entries", "1").found == ("TRUNCATED", None, "min-entries")


def other_history(differs_at: int, size: int = 6) -> ledger.Chain:
    return ledger.Chain().fill(differs_at - 1).add(ledger.decision(differs_at, latencyMs=1)).fill(size)


@pytest.mark.parametrize("differs_at", range(1, 7))
def test_two_valid_histories_are_a_fork_at_the_first_entry_that_differs(differs_at: int, judge: Judge) -> None:
    mine = ledger.Chain().fill(6)

    assert judge(mine, copy=other_history(differs_at)).found == ("FORKED", differs_at, "copies")
    assert judge(other_history(differs_at), copy=mine).found == ("FORKED", differs_at, "copies")


@pytest.mark.parametrize("after", [0, 3])
def test_a_fork_at_the_end_of_a_block_that_was_read_is_seen(after: int, judge: Judge) -> None:
    """The two entries end on either side of 256 KiB, so the blocks of the two files hold different numbers of lines."""
    mine = ledger.Chain()
    while len(mine.content) + 2500 < 1 << 18:
        mine.add(ledger.decision(len(mine.lines) + 1))
    theirs, number = ledger.Chain(lines=list(mine.lines), head=mine.head), len(mine.lines) + 1
    mine.add(ledger.decision(number)).fill(number + after)
    theirs.add(ledger.decision(number, productId="x" * 4000)).fill(number + after)

    assert judge(mine, copy=theirs).found == ("FORKED", number, "copies")
    assert judge(theirs, copy=mine).found == ("FORKED", number, "copies")


def test_the_same_entry_signed_at_another_time_is_a_fork(judge: Judge) -> None:
    again = ledger.Chain().fill(3).add(ledger.decision(4), at=ledger.iso(0)).fill(6)

    assert judge(ledger.Chain().fill(6), copy=again).found == ("FORKED", 4, "copies")


@pytest.mark.parametrize(("mine", "theirs"), [(6, 6), (6, 2), (2, 6), (6, 0), (0, 6), (0, 0)])
def test_a_copy_that_is_merely_shorter_is_no_fork(mine: int, theirs: int, judge: Judge) -> None:
    outcome = judge(ledger.Chain().fill(mine), copy=ledger.Chain().fill(theirs))

    assert outcome.found == PASS
    assert any(f"has {theirs} lines, none bad; they agree" in note for note in outcome.report["notes"])


def test_a_torn_copy_differs_only_in_its_whole_lines(chain: ledger.Chain, judge: Judge) -> None:
    assert judge(chain, copy=chain.content[:-3]).found == TORN
    assert judge(chain.content[:-3], copy=chain.content[:-3] + b"other").found == TORN
    assert judge(chain, copy=other_history(2).content[:-3]).found == ("FORKED", 2, "copies")


def test_a_bad_line_in_either_copy_comes_first(chain: ledger.Chain, judge: Judge) -> None:
    bad = chain.content.replace(b'"latencyMs":1203', b'"latencyMs":9999')

    assert judge(chain, copy=bad).found == ("TAMPERED", 3, "hash")
    assert judge(bad, copy=chain).found == ("TAMPERED", 3, "hash")
    assert judge(bad, copy=b"garbage\n").found == ("TAMPERED", 3, "hash")


def test_the_order_of_verdicts_holds_for_two_copies(chain: ledger.Chain, judge: Judge) -> None:
    other = other_history(2, 4)

    assert judge(chain, copy=other, policy=None).found == ("UNANCHORED", None, None)
    assert judge(chain, copy=other, checkpoints=[chain.checkpoint(4)]).found == ("FORKED", None, "checkpoint")
    assert judge(other, copy=chain, checkpoints=[chain.checkpoint(4)]).found == ("FORKED", None, "checkpoint")
    assert judge(chain, copy=other, checkpoints=[chain.checkpoint(1)]).found == ("FORKED", 2, "copies")
    assert judge(chain, "--min-entries", "5", copy=other).found == ("TRUNCATED", None, "min-entries")
    assert judge(chain, copy=ledger.Chain().fill(2), checkpoints=[chain.checkpoint(4)]).found == PASS
    assert judge(ledger.Chain().fill(2), copy=chain, checkpoints=[chain.checkpoint(4)]).exit == 4
