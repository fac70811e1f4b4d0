"""RF-20: the checks of an entry against the one before it, their order, and which line decides."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tests.verifier import ledger
from tests.verifier.conftest import Judge

ORDER = ("id", "link", "tenant", "hash", "time", "key", "signature")


def faulty(*faults: str) -> ledger.Chain:
    """Five entries, the third with these faults and no others."""
    chain = ledger.Chain().fill(2)
    body = ledger.decision(3)
    if "id" in faults:
        body["id"] = 7
    if "link" in faults:
        body["prevHash"] = ledger.sha("elsewhere")
    if "tenant" in faults:
        body["tenantId"] = "acme"
    if "time" in faults:
        body |= {"recordedAtMs": ledger.START_MS, "recordedAtIso": ledger.iso(ledger.START_MS)}
    chain.add(body, key=ledger.OTHER_KEY if "key" in faults else ledger.ENTRY_KEY)
    if "hash" in faults:
        start = chain.lines[2].index(b',"hash":"') + len(b',"hash":"')
        chain.head = ledger.sha("forged")
        chain.lines[2] = chain.lines[2][:start] + chain.head.encode() + chain.lines[2][start + 64 :]
    if "signature" in faults:
        start = chain.lines[2].index(b'"signature":"') + len(b'"signature":"')
        chain.lines[2] = chain.lines[2][:start] + b"AAAA" + chain.lines[2][start + 4 :]
    return chain.fill(5)


@pytest.mark.parametrize("faults", [pair for n in (1, 2, 7) for pair in itertools.combinations(ORDER, n)], ids="+".join)
def test_the_first_check_that_fails_is_the_one_reported(faults: tuple[str, ...], judge: Judge) -> None:
    outcome = judge(faulty(*faults))

    assert outcome.found == ("TAMPERED", 7 if "id" in faults else 3, faults[0])
    assert outcome.exit == 1


Change = Callable[[list[bytes]], list[bytes]]
LINES: dict[str, tuple[Change, tuple[str, int, str]]] = {
    "the first deleted": (lambda x: x[1:], ("TAMPERED", 2, "id")),
    "the third deleted": (lambda x: x[:2] + x[3:], ("TAMPERED", 4, "id")),
    "two deleted": (lambda x: x[:2] + x[4:], ("TAMPERED", 5, "id")),
    "two swapped": (lambda x: [*x[:2], x[3], x[2], *x[4:]], ("TAMPERED", 4, "id")),
    "the last moved up": (lambda x: [*x[:2], x[5], *x[2:5]], ("TAMPERED", 6, "id")),
    "all reversed": (lambda x: x[::-1], ("TAMPERED", 6, "id")),
    "the third twice": (lambda x: x[:3] + x[2:], ("FORKED", 3, "id")),
    "the first twice": (lambda x: x[:1] + x, ("FORKED", 1, "id")),
    "the last twice": (lambda x: x + x[-1:], ("FORKED", 6, "id")),
    "the third thrice": (lambda x: [*x[:2], x[2], x[2], x[2], *x[3:]], ("FORKED", 3, "id")),
    "the second again after the third": (lambda x: [*x[:3], x[1], *x[3:]], ("TAMPERED", 2, "id")),
    "the chain twice": (lambda x: x + x, ("TAMPERED", 1, "id")),
}


@pytest.mark.parametrize("change", LINES)
def test_lines_deleted_moved_or_repeated_are_seen(change: str, judge: Judge) -> None:
    chain = ledger.Chain().fill(6)
    apply, expected = LINES[change]
    chain.lines = apply(chain.lines)

    assert judge(chain).found == expected


def test_all_pairs_of_swapped_lines_are_seen_at_the_first(judge: Judge) -> None:
    for a, b in itertools.combinations(range(5), 2):
        chain = ledger.Chain().fill(5)
        chain.lines[a], chain.lines[b] = chain.lines[b], chain.lines[a]
        assert judge(chain, text_too=False).found == ("TAMPERED", b + 1, "id")


def test_another_history_from_some_id_on_is_a_fork_where_both_are_kept(judge: Judge) -> None:
    chain = ledger.Chain().fill(3)
    other = ledger.Chain().fill(2).add(ledger.decision(3, latencyMs=1))
    chain.lines += other.lines[2:]

    assert judge(chain).found == ("FORKED", 3, "id")


def test_time_may_stand_still_but_not_go_back(judge: Judge) -> None:
    still = {"recordedAtMs": ledger.START_MS + 2000, "recordedAtIso": ledger.iso(ledger.START_MS + 2000)}
    chain = ledger.Chain().fill(2).add(ledger.decision(3, **still)).add(ledger.decision(4, **still))

    assert judge(chain.fill(6)).found == ("PASS", None, None)
    back = {"recordedAtMs": ledger.START_MS + 5999, "recordedAtIso": ledger.iso(ledger.START_MS + 5999)}
    assert judge(chain.add(ledger.decision(7, **back))).found == ("TAMPERED", 7, "time")


@pytest.mark.parametrize(
    "origin", ["other.example/decisions/-", "prometheus.example/decisions/acme", "prometheus.example/decisions/--"]
)
def test_a_chain_of_another_origin_does_not_start_at_this_genesis(origin: str, judge: Judge) -> None:
    assert judge(ledger.Chain(origin).fill(3)).found == ("TAMPERED", 1, "link")


@pytest.mark.parametrize("tenant", ["acme", "a", "0.9", "--"])
def test_a_tenant_stands_in_every_entry_or_in_none(tenant: str, judge: Judge) -> None:
    origin = f"prometheus.example/decisions/{tenant}"
    policy = ledger.policy(origin)

    assert judge(ledger.Chain(origin).fill(3, tenantId=tenant), policy=policy).found == ("PASS", None, None)
    assert judge(ledger.Chain(origin).fill(3), policy=policy).found == ("TAMPERED", 1, "tenant")
    mixed = ledger.Chain(origin).fill(2, tenantId=tenant)
    assert judge(mixed.add(ledger.decision(3, tenantId="other")), policy=policy).found == ("TAMPERED", 3, "tenant")
    assert judge(ledger.Chain().fill(2).add(ledger.decision(3, tenantId=tenant))).found == ("TAMPERED", 3, "tenant")


def test_the_earliest_bad_line_decides_whatever_follows(judge: Judge) -> None:
    tampered_first = faulty("hash")
    tampered_first.lines[3] = b"garbage"
    malformed_first = faulty("hash")
    malformed_first.lines[1] = b"garbage"
    unsupported_first = faulty("signature")
    unsupported_first.lines[1] = unsupported_first.lines[1].replace(b'"canonicalForm":"v2"', b'"canonicalForm":"v3"')

    assert judge(tampered_first).found == ("TAMPERED", 3, "hash")
    assert judge(malformed_first).found == ("MALFORMED", 2, "encoding")
    assert judge(unsupported_first).found == ("UNSUPPORTED", 2, "form")


def test_a_malformed_line_is_not_also_tampered(judge: Judge) -> None:
    chain = faulty("id", "link", "key")
    chain.lines[2] = chain.lines[2].replace(b'"router"', b'"oracle"')

    assert judge(chain).found == ("MALFORMED", 3, "schema")


def test_the_counts_go_on_after_the_first_bad_line(judge: Judge) -> None:
    chain = ledger.Chain().fill(9)
    chain.lines[2] = chain.lines[2].replace(b'"router"', b'"drafter"')
    chain.lines[5] = b"garbage"
    chain.lines[7] = chain.lines[7].replace(b'"latencyMs":1208', b'"latencyMs":1209')

    report = judge(chain).report

    assert (report["entries"], report["signatures"], report["keys"][0]["entries"]) == (8, 6, 8)
    assert (report["headHash"], report["rootHash"]) == (None, None)
    assert report["latest"] == ledger.iso(ledger.START_MS + 9000)


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_any_prefix_of_a_chain_passes_alone_and_says_what_it_cannot_show(cut: int, judge: Judge) -> None:
    outcome = judge(ledger.Chain().fill(cut))

    assert outcome.found == ("PASS", None, None)
    assert any("cannot be seen" in note for note in outcome.report["notes"])
    assert outcome.report["entries"] == outcome.report["signatures"] == cut


def test_every_byte_of_a_line_counts(judge: Judge) -> None:
    chain = ledger.Chain().fill(3)
    sound = chain.lines[1]
    for position in range(0, len(sound), 5):
        flipped = bytearray(sound)
        flipped[position] ^= 1 << position % 7
        chain.lines[1] = bytes(flipped)
        assert judge(chain, text_too=False).exit in {1, 8, 9}, position
