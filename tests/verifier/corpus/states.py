"""state.json and the chains under it; a ledger's whole folder; several chains at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.verifier.bodies import LAYERS, build, decision
from tests.verifier.corpus.material import ENTRY, STRANGER, Corpus, chain, key_log, origin
from tests.verifier.evidence import row, state_of
from tests.verifier.ledger import Chain

ATTACK = "a chain rolled back or replaced behind its state"
SIZES = {
    "specs": 2,
    "builds": 2,
    "calls": 2,
    "reviews": 2,
    "regenerations": 1,
    "turns": 3,
    "components": 2,
    "decisions": 5,
}


def sound_ledger() -> dict[str, Chain]:
    """Every chain of a ledger by name, the state chain last."""
    made = {"keys": key_log(), **{name: chain(name, size) for name, size in SIZES.items()}}
    chains: dict[str, Chain] = {name: made[name] for name in LAYERS if name in made}
    states = Chain(origin("state"), ENTRY)
    states.add(state_of(1, [row(made, min(1, len(made.lines))) for name, made in chains.items()]))
    states.add(state_of(2, [row(made) for made in chains.values()]))
    return {**chains, "state": states}


def last(states: Chain) -> bytes:
    return states.lines[-1] + b"\n"


def add_to(corpus: Corpus) -> None:
    ledger = sound_ledger()
    for name, made in ledger.items():
        corpus.file(f"ledger/{name}.jsonl", made)
        corpus.policy(name)
        corpus.file(f"ledger/policy-{name}.json", corpus.files[f"policies/{name}.json"])
    corpus.file("ledger/state.json", last(ledger["state"]))
    _folders(corpus, ledger)
    _against_chains(corpus, ledger)
    _alone(corpus, ledger)
    _several(corpus)


def _reports(ledger: Mapping[str, Any], **found: tuple[Any, ...]) -> list[list[Any]]:
    """What is found of each chain in layer order, then of the state."""
    names = [*(name for name in LAYERS if name in ledger), "state.json"]
    return [[name, *found.get(name.replace(".", "_"), ("PASS", None, None))] for name in names]


def _folders(corpus: Corpus, ledger: dict[str, Chain]) -> None:
    attack = "a ledger as a folder"
    told: dict[str, Any] = {"policies": ["ledger"]}
    corpus.given("folders/whole", attack, ["ledger"], reports=_reports(ledger), **told)
    corpus.given("folders/without-a-policy", attack, ["ledger"], "UNANCHORED", policies=[])
    for name, chains, found, reports in (
        (
            "one-chain-tampered",
            {"turns": ledger["turns"].content.replace(b'"iterations":2', b'"iterations":3', 1)},
            ("TAMPERED",),
            {"turns": ("TAMPERED", 1, "hash")},
        ),
        (
            "one-chain-cut",
            {"decisions": chain(size=4).content},
            ("TRUNCATED",),
            {"state_json": ("TRUNCATED", None, "state")},
        ),
        (
            "one-chain-emptied",
            {"decisions": b""},
            ("TRUNCATED",),
            {"state_json": ("TRUNCATED", None, "state")},
        ),
        (
            "one-chain-missing",
            {"decisions": None},
            ("TRUNCATED",),
            {"state_json": ("TRUNCATED", None, "state")},
        ),
        (
            "one-chain-torn",
            {"calls": ledger["calls"].content + b"{"},
            ("TORN_TAIL",),
            {"calls": ("TORN_TAIL", None, "framing")},
        ),
    ):
        there = {each: chains.get(each, made.content) for each, made in ledger.items()}
        files = {each: content for each, content in there.items() if content is not None}
        for each, content in files.items():
            corpus.file(f"{name}/{each}.jsonl", content)
        corpus.file(f"{name}/state.json", last(ledger["state"]))
        corpus.given(f"folders/{name}", attack, [name], *found, reports=_reports(files, **reports), **told)


def _against_chains(corpus: Corpus, ledger: dict[str, Chain]) -> None:
    """state.json beside one chain; the other rows are notes."""
    told: dict[str, Any] = {"policies": ["ledger"]}
    forked = chain(size=4)
    forked.add(decision(5, latencyMs=1))
    grown = chain(size=7)
    state = "ledger/state.json"
    chains: dict[str, tuple[Chain, tuple[Any, ...]]] = {
        "as-it-says": (ledger["decisions"], ()),
        "chain-has-grown": (grown, ()),
        "chain-is-shorter": (chain(size=4), ("TRUNCATED", None, "state")),
        "chain-is-empty": (chain(), ("TRUNCATED", None, "state")),
        "chain-is-another": (forked, ("FORKED", None, "state")),
    }
    for name, (made, found) in chains.items():
        file = corpus.file(f"states/{name}/decisions.jsonl", made)
        reports = [["decisions", "PASS", None, None], ["state.json", *(found or ("PASS", None, None))]]
        corpus.given(f"states/{name}", ATTACK, [file, state], *found[:1], reports=reports, **told)
    for name, member in {"root-of-another-chain": "rootHash", "head-of-another-chain": "headHash"}.items():
        rows = [{**row(ledger["decisions"]), member: "0" * 64}]
        states = Chain(origin("state"), ENTRY).add(state_of(1, rows))
        file = corpus.file(f"states/{name}.json", last(states))
        reports = [["decisions", "PASS", None, None], [f"{name}.json", "FORKED", None, "state"]]
        corpus.given(f"states/{name}", ATTACK, ["ledger/decisions.jsonl", file], "FORKED", reports=reports, **told)
    turns = ["ledger/turns.jsonl", "ledger/decisions.jsonl", state]
    corpus.given("states/two-chains", ATTACK, turns, **told)


def _alone(corpus: Corpus, ledger: dict[str, Chain]) -> None:
    attack, told = "a state.json by itself", {"policies": [corpus.policy("state")]}
    good = last(ledger["state"])
    stranger = Chain(origin("state"), STRANGER).add(state_of(1, [row(ledger["decisions"])]))
    wrong: dict[str, tuple[bytes, tuple[Any, ...]]] = {
        "good": (good, ()),
        "by-a-stranger": (last(stranger), ("TAMPERED", 1, "key")),
        "edited": (good.replace(b'"size":5', b'"size":4'), ("TAMPERED", 2, "hash")),
        "wrong-signature": (
            good.replace(_signature(good), _signature(ledger["state"].lines[0])),
            ("TAMPERED", 2, "signature"),
        ),
        "without-its-line-break": (good[:-1], ("TORN_TAIL", None, "framing")),
        "pretty-printed": (good.replace(b'"id":2', b'"id": 2'), ("MALFORMED", None, "encoding")),
        "of-another-layer": (last(chain("builds", 2)), ("MALFORMED", None, "schema")),
    }
    for name, (data, found) in wrong.items():
        file = corpus.file(f"states/alone-{name}.json", data)
        corpus.given(f"states/alone-{name}", attack, [file], *found, **told)


def _signature(line: bytes) -> bytes:
    return line.split(b'"signature":"')[1].split(b'"')[0]


def _several(corpus: Corpus) -> None:
    attack = "several chains at once: the first verdict of the table that is present"
    told: dict[str, Any] = {"policies": ["ledger"]}
    bad_build = chain("builds")
    bad_build.add(build(1)).add(build(2), spoil=lambda body: body.replace(b'"passed"', b'"fine"'))
    bad = corpus.file("several/malformed.jsonl", bad_build)
    torn = corpus.file("several/torn.jsonl", chain("calls", 2).content[:-1])
    tampered = corpus.file("several/tampered.jsonl", chain("turns", 3).content.replace(b"replied", b"failed", 1))
    good = "ledger/decisions.jsonl"
    for name, inputs, found in (
        ("all-pass", ["ledger/builds.jsonl", good], ()),
        ("one-torn", [torn, good], ("TORN_TAIL",)),
        ("malformed-before-torn", [torn, bad, good], ("MALFORMED",)),
        ("tampered-before-malformed", [bad, torn, tampered, good], ("TAMPERED",)),
    ):
        corpus.given(f"several/{name}", attack, inputs, *found, **told)
    twins = [
        good,
        corpus.file("several/fork.jsonl", chain(size=4).add(decision(5, latencyMs=1))),
        "ledger/builds.jsonl",
    ]
    corpus.given("several/copies-of-one-beside-another", attack, twins, "FORKED", **told)
