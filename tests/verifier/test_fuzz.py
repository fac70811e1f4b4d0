"""Differential fuzzing: spoilt inputs by the thousand; no crash, no hang, no disagreement, no forgery that passes.

In `make test` a sample; in `make test-fuzz` more than 200,000 spoilt inputs: lines judged alone, and whole command
lines over chains, policies, checkpoints, key logs, proofs and states.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.verifier import ledger, mutations
from tests.verifier.bodies import LAYERS
from tests.verifier.both import Outcome, Verifiers
from tests.verifier.evidence import KEYS, KeyLog, proof, row, state_of
from tests.verifier.mutations import BLIND, KNOWING, Mutation, spoil

BATCH = 200
VERIFIERS = Path(__file__).parents[2] / "verifier"
WAYS: list[Mutation] = [*BLIND, *KNOWING, *KNOWING]
MORE: list[list[str]] = [[], [], [], ["--stop-early"], ["--unique"], ["--min-entries", "2"], ["--max-age", "9999d"]]
BLINDFOLD = ["--level", "chain"]  # under which a forged signature passes, as the report then says
NEXT_KEY = ledger.OTHER_KEY
Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Target:
    """Files that pass together, the one that is spoilt, the arguments by name of file, and what may still pass."""

    name: str
    files: Files
    spoilt: str
    args: tuple[str, ...]
    may_pass: Callable[[bytes], bool]
    ways: tuple[Mutation, ...] = tuple(WAYS)

    def lay_out(self, folder: Path, data: bytes) -> list[str]:
        """Write the files; give the arguments with their paths."""
        folder.mkdir(exist_ok=True)
        for name, content in {**self.files, self.spoilt: data}.items():
            (folder / name).write_bytes(content)
        return [str(folder / word) if word in self.files else word for word in self.args]


def policy(origin: str = ledger.ORIGIN) -> bytes:
    return json.dumps(ledger.policy(origin)).encode()


def key_log() -> KeyLog:
    log = KeyLog(KEYS).created(ledger.ENTRY_KEY).created(ledger.CHECKPOINT_KEY, "checkpoint")
    return log.rotated(ledger.ENTRY_KEY, NEXT_KEY, {"keys": 4, "decisions": 2})


def sound_chains() -> list[ledger.Chain]:
    unusual = ledger.Chain().add(ledger.decision(1, productId='tab\t"é😀\x00/\\', turnId="t_" + ledger.ULID)).fill(3)
    tenant = ledger.Chain("x/decisions/acme").fill(2, tenantId="acme")
    others = [
        ledger.Chain(f"prometheus.example/{chain}/-").fill(2) for chain in LAYERS if chain not in {"keys", "decisions"}
    ]
    return [unusual, tenant, ledger.Chain(form="v1").fill(3), key_log(), *others]


def prefix_of(whole: bytes) -> Callable[[bytes], bool]:
    """What is left of a sound chain passes when it is whole lines of it, from the first on."""
    return lambda data: whole.startswith(data) and (not data or data.endswith(b"\n"))


def targets() -> list[Target]:
    chains = sound_chains()
    contents = [chain.content for chain in chains]
    made = [
        Target(
            f"chain {chain.origin}",
            {"chain.jsonl": chain.content, "policy.json": policy(chain.origin)},
            "chain.jsonl",
            ("chain.jsonl", "--policy", "policy.json"),
            prefix_of(chain.content),
            (*WAYS, mutations.forge, mutations.splice_with([one for one in contents if one != chain.content])),
        )
        for chain in chains
    ]
    return [*made, *_of_evidence(), *_of_parts()]


def _of_evidence() -> list[Target]:
    chain, log = ledger.Chain().fill(2), key_log()
    under = ("chain.jsonl", "--policy", "policy.json")
    noted = {"chain.jsonl": chain.content, "policy.json": policy(), "note": chain.checkpoint(2)}
    signed = noted["note"].partition(b"\n\n")[0]
    rotated = ledger.Chain().fill(1).add(ledger.decision(2), key=NEXT_KEY)
    led = {"chain.jsonl": rotated.content, "policy.json": policy(), "keys.jsonl": log.content}
    return [
        Target("policy", noted, "policy.json", under, trusts_the_entry_key),
        Target(
            "checkpoint", noted, "note", (*under, "--checkpoint", "note"), lambda d: d.partition(b"\n\n")[0] == signed
        ),
        Target("key log", led, "keys.jsonl", (*under, "--key-log", "keys.jsonl"), lambda d: d == log.content),
        Target(
            "chain under a key log", led, "chain.jsonl", (*under, "--key-log", "keys.jsonl"), prefix_of(rotated.content)
        ),
    ]


def _of_parts() -> list[Target]:
    chain, states = ledger.Chain().fill(3), ledger.Chain("prometheus.example/state/-")
    proven = {"a.tlog-proof": proof(chain, 2, 3), "policy.json": policy()}
    fixed = proven["a.tlog-proof"][: proven["a.tlog-proof"].index("\n\u2014 ".encode())]
    states.add(state_of(1, [row(chain)]))
    stated = {"decisions.jsonl": chain.content, "state.json": states.content, "p1.json": policy(states.origin)}
    stated |= {"p2.json": policy()}
    both = ("decisions.jsonl", "state.json", "--policy", "p1.json", "--policy", "p2.json")
    return [
        Target(
            "proof", proven, "a.tlog-proof", ("a.tlog-proof", "--policy", "policy.json"), lambda d: d.startswith(fixed)
        ),
        Target("state", stated, "state.json", both, lambda d: d == states.content),
        Target("chain under a state", stated, "decisions.jsonl", both, lambda d: d == chain.content),
    ]


def trusts_the_entry_key(data: bytes) -> bool:
    """Whether a policy is JSON that names the origin and the key of the chain, for entries; else it must not pass."""
    read = json.loads(data)
    mine = [key for key in read["keys"] if key["publicKey"] == ledger.public(ledger.ENTRY_KEY)]
    return read["origin"] == ledger.ORIGIN and any(key["use"] == "entry" for key in mine)


def fuzz(verifiers: Verifiers, folder: Path, rounds: int, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    sound = targets()
    for _ in range(0, rounds, BATCH):
        chosen = [dice.choice(sound) for _ in range(BATCH)]
        spoilt = [spoil(dice, target.files[target.spoilt], target.ways) for target in chosen]
        lists = [
            [*target.lay_out(folder / f"{place}-{sound.index(target)}", data), *dice.choice([*MORE, BLINDFOLD])]
            for place, (target, data) in enumerate(zip(chosen, spoilt, strict=True))
        ]
        for target, data, args, outcome in zip(chosen, spoilt, lists, verifiers.run_many(lists), strict=True):
            assert outcome.exit in range(10)
            if args[-2:] != BLINDFOLD:
                look_at(target, data, outcome)


def look_at(target: Target, data: bytes, outcome: Outcome) -> None:
    """What passes must be what was signed; whoever forges gets no better than any other verdict."""
    if outcome.exit == 0:
        assert target.may_pass(data), (target.name, data)
    if outcome.exit == 6 and target.spoilt.endswith(".jsonl"):
        held = data[: data.rfind(b"\n") + 1]
        assert target.files[target.spoilt].startswith(held), (target.name, data)


def fuzz_blocks(verifiers: Verifiers, folder: Path, rounds: int, seed: int) -> None:
    """Spoil a chain of several blocks, so that faults fall on their borders, too; a copy beside it shows forks."""
    dice, chain = random.Random(seed), ledger.Chain()  # noqa: S311 - repeatable on purpose
    while len(chain.content) < 3 << 18:
        chain.fill(len(chain.lines) + 50, productId="x" * dice.randrange(900))
    (folder / "true.jsonl").write_bytes(chain.content)
    (folder / "policy.json").write_bytes(policy())
    for start in range(0, rounds, 20):
        lists, spoilt = [], [spoil(dice, chain.content, WAYS) for _ in range(20)]
        for place, data in enumerate(spoilt):
            file = folder / f"{place}.jsonl"
            file.write_bytes(data)
            copies = [[str(file)], [str(file), str(folder / "true.jsonl")], [str(folder / "true.jsonl"), str(file)]]
            lists.append([*copies[(start + place) % 3], "--policy", str(folder / "policy.json"), *BLINDFOLD])
        for outcome in verifiers.run_many(lists):
            assert outcome.exit in range(10)


def fuzz_lines(verifiers: Verifiers, rounds: int, seed: int) -> None:
    """Spoil single lines, which is a hundred times faster; what is still sound must be its own canonical form."""
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    originals = [(chain.layer, line) for chain in sound_chains() for line in chain.lines]
    for _ in range(rounds // 500):
        layer, line = dice.choice(originals)
        spoilt = [line, *(spoil(dice, line, WAYS).replace(b"\n", b"\r") for _ in range(499))]
        for judged, data in zip(verifiers.alone(layer, spoilt), spoilt, strict=True):
            if judged == "sound":
                assert ledger.canonical(json.loads(data)) == data


@pytest.mark.parametrize("target", targets(), ids=lambda target: str(target.name))
def test_what_is_to_be_spoilt_passes_as_it_is(target: Target, verifiers: Verifiers, tmp_path: Path) -> None:
    whole = target.files[target.spoilt]
    outcome = verifiers.run(target.lay_out(tmp_path, whole))

    assert outcome.exit == 0, outcome
    assert target.may_pass(whole)


def test_some_thousand_spoilt_lines_are_judged_alike(verifiers: Verifiers) -> None:
    fuzz_lines(verifiers, rounds=5_000, seed=20_261_130)


def test_some_hundred_spoilt_inputs_fool_neither_verifier(verifiers: Verifiers, tmp_path: Path) -> None:
    fuzz(verifiers, tmp_path, rounds=400, seed=20_261_130)


@pytest.mark.usefixtures("small_blocks")
def test_some_spoilt_chains_of_several_blocks_are_judged_alike(verifiers: Verifiers, tmp_path: Path) -> None:
    fuzz_blocks(verifiers, tmp_path, rounds=20, seed=20_261_130)


@pytest.mark.fuzz
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("small_blocks")
def test_many_spoilt_chains_of_several_blocks_are_judged_alike(verifiers: Verifiers, tmp_path: Path) -> None:
    fuzz_blocks(verifiers, tmp_path, rounds=200, seed=3)


@pytest.mark.fuzz
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(3))
def test_many_thousand_spoilt_inputs_fool_neither_verifier(seed: int, verifiers: Verifiers, tmp_path: Path) -> None:
    fuzz(verifiers, tmp_path, rounds=6_000, seed=seed)


@pytest.mark.fuzz
@pytest.mark.timeout(300)
def test_the_commands_themselves_print_alike_and_end_alike(tmp_path: Path) -> None:
    """A process each: what a driver might hide, such as a stack that overflows or a stream left open, shows here."""
    dice, sound = random.Random(2), targets()  # noqa: S311 - repeatable on purpose
    programs = [[sys.executable, str(VERIFIERS / "verify.py")], ["node", str(VERIFIERS / "verify.mjs")]]
    for _ in range(15):
        target = dice.choice(sound)
        data = spoil(dice, target.files[target.spoilt], target.ways)
        args = target.lay_out(tmp_path, data)
        mine, theirs = (
            subprocess.run([*program, *args], capture_output=True, timeout=30, check=False) for program in programs
        )
        assert (mine.returncode, mine.stdout) == (theirs.returncode, theirs.stdout), (target.name, data)
        assert mine.returncode in range(10)
        assert mine.returncode or target.may_pass(data)


@pytest.mark.fuzz
@pytest.mark.timeout(900)
def test_two_hundred_thousand_spoilt_lines_are_judged_alike(verifiers: Verifiers) -> None:
    fuzz_lines(verifiers, rounds=200_000, seed=1)
