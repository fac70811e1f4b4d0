"""Lines made to keep a verifier busy: each is judged in less than a second of processor time, by both alike.

`Verifiers.alone` and `Verifiers.run_many` measure that of every input they are given; so the fuzzers do, too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.verifier import ledger
from tests.verifier.both import Verifiers
from verifier import verify

LIMIT = verify.MAX_LINE_BYTES
SOUND = ledger.Chain().fill(1).lines[0]
PIECES = {
    "quotes": b'"',
    "backslashes": b"\\\\",
    "escaped quotes": b'\\"',
    "escapes cut short": b"\\u00",
    "escapes": b"\\u0001",
    "empty strings": b'"",',
    "arrays": b"[",
    "objects": b'{"":',
    "closed arrays": b"[],",
    "arrays of one, inside one another": b"[[[[[[[0]]]]]]],",
    "scalars": b"0,",
    "digits": b"9",
    "digits as long as the largest integer": b"9007199254740991,",
    "minus signs": b"-",
    "hyphens": b"a-",
    "members of a sound line": SOUND[1:-2] + b",",
    "hash members": b',"hash":"',
    "attestations": b',"attestation":{"algorithm":"ed25519","publicKey":"',
    "bytes that are no text": b"\xc3",
    "letters of two bytes": b"\xc3\xa9",
}
PLACES: dict[str, Callable[[bytes], bytes]] = {
    "alone": lambda filling: filling,
    "in a string": lambda filling: SOUND.replace(b"prometheus-agent", filling),
    "in the specId": lambda filling: SOUND.replace(b"turn-router", filling),
    "for the id": lambda filling: SOUND.replace(b'"id":1', b'"id":' + filling),
    "before the end": lambda filling: SOUND[:-2] + filling + SOUND[-2:],
}


def hostile(place: str) -> list[bytes]:
    """Lines as long as may be, one a piece: whole pieces only, and cut so that the end is odd."""
    room = LIMIT - len(SOUND)
    fillings = [(piece * room)[: room - cut] for piece in PIECES.values() for cut in (0, 1)]
    return [PLACES[place](filling) for filling in fillings]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("layer", ["L12", "L10", "L3"])
def test_no_line_keeps_either_verifier_busy_for_a_second(layer: str, place: str, verifiers: Verifiers) -> None:
    lines = hostile(place)

    assert len(lines) == 2 * len(PIECES)
    assert max(map(len, lines)) <= LIMIT
    assert all(verifiers.alone(layer, lines))


@pytest.mark.parametrize(
    "place", [place if place == "in a string" else pytest.param(place, marks=pytest.mark.fuzz) for place in PLACES]
)
def test_no_chain_of_such_lines_does_either(place: str, verifiers: Verifiers, tmp_path: Path) -> None:
    """A sound line stands around each, so that blocks of lines are tried as such first."""
    lists = []
    for number, line in enumerate(hostile(place)):
        (tmp_path / f"{number}.jsonl").write_bytes(b"".join(one + b"\n" for one in (SOUND, line, SOUND)))
        lists.append([str(tmp_path / f"{number}.jsonl"), "--layer", "L12"])

    outcomes = verifiers.run_many(lists)

    assert {outcome.exit for outcome in outcomes} <= {1, 3, 5, 8, 9}
