"""Differential fuzzing: spoilt chains by the thousand; no crash, no disagreement, no forgery that passes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.verifier import ledger
from tests.verifier.both import Verifiers

TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b'"',
    b"\\",
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b" ",
    b"0",
    b"-",
    b"1.0",
    b"1e3",
    b"9007199254740992",
    b"null",
    b"true",
    b"NaN",
    b'"x"',
    b"{}",
    b"[]",
    b"\\u0000",
    b"\\u001F",
    b"\\ud800",
    b"\\/",
    b'"id":1',
    b'"id":2,',
    b"v1",
    b"v3",
    b"ed25519",
    b"ed448",
    b',"hash":"',
    b',"attestation":{',
    b'"tenantId":"acme",',
    b"=",
    b"==",
    b"A",
    b"a",
    b"Z",
    b"x" * 5000,
    b"[" * 40,
    b'"' * 9,
]
Mutation = Callable[[random.Random, bytes], bytes]


def flip(dice: random.Random, data: bytes) -> bytes:
    position = dice.randrange(len(data))
    return data[:position] + bytes([data[position] ^ 1 << dice.randrange(4)]) + data[position + 1 :]


def insert(dice: random.Random, data: bytes) -> bytes:
    position = dice.randrange(len(data) + 1)
    return data[:position] + dice.choice(TOKENS) + data[position:]


def cut(dice: random.Random, data: bytes) -> bytes:
    start = dice.randrange(len(data))
    return data[:start] + data[start + dice.choice([1, 1, 2, 5, 40, 1200]) :]


def overwrite(dice: random.Random, data: bytes) -> bytes:
    token = dice.choice(TOKENS)
    position = dice.randrange(len(data))
    return data[:position] + token + data[position + len(token) :]


def splice(dice: random.Random, data: bytes) -> bytes:
    a, b = sorted(dice.randrange(len(data) + 1) for _ in range(2))
    position = dice.randrange(len(data) + 1)
    return data[:position] + data[a : min(b, a + 300)] + data[position:]


def shuffle(dice: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a] if dice.random() < 0.5 else lines[b]
    return b"\n".join(lines)


def members(dice: random.Random, data: bytes) -> bytes:
    """Move, repeat or drop whole members of a line."""
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    parts = lines[at].split(b',"')
    a, b = dice.randrange(len(parts)), dice.randrange(len(parts))
    if dice.random() < 0.3:
        del parts[a]
    else:
        parts.insert(a, parts[b])
    lines[at] = b',"'.join(parts)
    return b"\n".join(lines)


MUTATIONS: list[Mutation] = [flip, insert, cut, overwrite, splice, shuffle, members]


def chains() -> list[tuple[ledger.Chain, str]]:
    unusual = ledger.Chain().add(ledger.decision(1, productId='tab\t"é😀\x00/\\', turnId="t_" + ledger.ULID)).fill(3)
    tenant = ledger.Chain("x/decisions/acme").fill(2, tenantId="acme")
    return [
        (unusual, ledger.ORIGIN),
        (ledger.Chain(ledger.TURNS).fill(2), ledger.TURNS),
        (tenant, tenant.origin),
        (ledger.Chain(form="v1").fill(3), ledger.ORIGIN),
    ]


def fuzz(verifiers: Verifiers, folder: Path, rounds: int, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    sound = chains()
    for i, (_, origin) in enumerate(sound):
        (folder / f"{i}.json").write_text(json.dumps(ledger.policy(origin)))
    for _ in range(rounds):
        i = dice.randrange(len(sound))
        whole = sound[i][0].content
        data = whole
        for _ in range(dice.choice([1, 1, 1, 2, 4])):
            data = dice.choice(MUTATIONS)(dice, data) or b"\n"
        (folder / "chain").write_bytes(data)
        policy = ["--policy", str(folder / f"{i}.json")] if dice.random() < 0.9 else []
        outcome = verifiers.run_json([str(folder / "chain"), *policy])
        assert outcome.exit in {0, 1, 3, 5, 6, 8, 9}
        if outcome.exit in {0, 6}:
            held = data[: data.rfind(b"\n") + 1]
            assert whole.startswith(held), data
            assert outcome.exit == (0 if held == data else 6)


def fuzz_lines(verifiers: Verifiers, rounds: int, seed: int) -> None:
    """Spoil single lines, which is a hundred times faster; what is still sound must be its own canonical form."""
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    originals = [(chain.layer, line) for chain, _ in chains() for line in chain.lines]
    for _ in range(rounds // 500):
        layer, line = dice.choice(originals)
        spoilt = [line]
        for _ in range(499):
            data = line
            for _ in range(dice.choice([1, 1, 2, 3])):
                data = dice.choice(MUTATIONS)(dice, data) or b"x"
            spoilt.append(data.replace(b"\n", b"\r"))
        for judged, data in zip(verifiers.alone(layer, spoilt), spoilt, strict=True):
            if judged == "sound":
                assert ledger.canonical(json.loads(data)) == data


def test_some_thousand_spoilt_lines_are_judged_alike(verifiers: Verifiers) -> None:
    fuzz_lines(verifiers, rounds=5_000, seed=20_261_130)


def test_a_thousand_spoilt_chains_fool_neither_verifier(verifiers: Verifiers, tmp_path: Path) -> None:
    fuzz(verifiers, tmp_path, rounds=1_000, seed=20_261_130)


@pytest.mark.fuzz
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(4))
def test_many_thousand_spoilt_chains_fool_neither_verifier(seed: int, verifiers: Verifiers, tmp_path: Path) -> None:
    fuzz(verifiers, tmp_path, rounds=10_000, seed=seed)


@pytest.mark.fuzz
@pytest.mark.timeout(900)
def test_two_hundred_thousand_spoilt_lines_are_judged_alike(verifiers: Verifiers) -> None:
    fuzz_lines(verifiers, rounds=200_000, seed=1)
