"""The attack corpus verifier/vectors/v3: its files are what the generator makes, and both verifiers judge each case."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.verifier.bodies import LAYERS
from tests.verifier.both import Verifiers, run_python
from tests.verifier.corpus import families
from tests.verifier.corpus.generate import OTHERS, corpus
from tests.verifier.corpus.material import FOLDER, Corpus
from verifier import verify

Row = dict[str, Any]
Variant = tuple[str, bytes, str, Sequence[str], Sequence[Any]]
"""What it is, the chain, its policy, more arguments, and verdict, id and check."""
SMALL_BYTES, BATCH = 2_000_000, 250


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


CASES: list[Row] = read("manifest.json")
ALONE: list[Row] = read("families/alone.json")


@cache
def made() -> Corpus:
    return corpus()


def arguments(case: Row) -> list[str]:
    given = [str(FOLDER / name) for name in case["inputs"]]
    for option, names in (("--policy", case["policies"]), ("--checkpoint", case["checkpoints"])):
        given += [word for name in names for word in (option, str(FOLDER / name))]
    given += ["--key-log", str(FOLDER / case["keyLog"])] if case["keyLog"] else []
    return [*given, *case["args"]]


def test_the_files_are_what_the_generator_makes_byte_for_byte() -> None:
    here = {file.relative_to(FOLDER).as_posix(): file.read_bytes() for file in FOLDER.rglob("*") if file.is_file()}

    assert set(here) - OTHERS == set(made().files)
    assert [name for name, data in made().files.items() if here[name] != data] == []


def test_the_corpus_stays_small_and_every_file_is_used() -> None:
    named = {
        *(name for case in CASES for name in (*case["inputs"], *case["policies"], *case["checkpoints"])),
        *(case["keyLog"] for case in CASES),
    }
    text = "".join(
        (FOLDER / "families" / f"{name}.json").read_text() for name in ("flips", "cuts", "orders", "members")
    )
    unused = [
        name
        for name in made().files
        if "/" in name
        and name not in named
        and name.split("/")[0] not in {*named, "families"}
        and f'"{name}"' not in text
    ]

    assert sum(map(len, made().files.values())) < SMALL_BYTES
    assert unused == []


def test_the_manifest_has_every_verdict_and_every_check() -> None:
    told = [report[-1] for case in CASES for report in case.get("reports", [])]
    checks = {*told, *(case["check"] for case in CASES), *(row["check"] for row in ALONE)}

    assert {case["verdict"] for case in CASES} == {*verify.EXITS, None} - {""}
    assert {case["exit"] for case in CASES} == set(range(10))
    assert checks >= {*verify.CHECKS, "encoding", "schema", "algorithm", "form", "framing", "copies", "state", "proof"}
    assert checks >= {"checkpoint", "min-entries", "max-age"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_both_verifiers_judge_a_case_as_the_manifest_says(case: Row, verifiers: Verifiers) -> None:
    outcome = verifiers.run(arguments(case))

    assert outcome.exit == case["exit"], outcome
    if "reports" in outcome.report:
        assert outcome.report["verdict"] == case["verdict"]
        found = [[each["input"].removesuffix(".jsonl"), *found_in(each)] for each in outcome.report["reports"]]
        assert found == case.get("reports", found)
    else:
        assert outcome.found == (case["verdict"], case["id"], case["check"])


def found_in(report: Row) -> list[Any]:
    return [report["verdict"], report["id"], report["check"]]


def test_no_byte_of_an_entry_reaches_a_terminal(verifiers: Verifiers, tmp_path: Path) -> None:
    for row in ALONE:
        given = alone(row, tmp_path)
        outcome, outcome_of_node = run_python(given), verifiers.run_node(given)
        assert outcome.stdout == outcome_of_node.stdout
        assert outcome.stdout.isascii()
        assert outcome.stdout.replace("\n", "").isprintable()
        assert "pwned" not in outcome.stdout
        assert "evil" not in outcome.stdout


def alone(row: Row, folder: Path) -> list[str]:
    """Write a line as a chain of its own; give the arguments."""
    (folder / "chain.jsonl").write_bytes(bytes_of(row) + b"\n")
    chain = next(name for name, (layer, _) in LAYERS.items() if layer == row["layer"])
    return [str(folder / "chain.jsonl"), "--policy", str(FOLDER / "policies" / f"{chain}.json")]


def bytes_of(row: Row) -> bytes:
    return bytes.fromhex(row["hex"]) if "hex" in row else str(row["text"]).encode()


@pytest.mark.parametrize("row", ALONE, ids=lambda row: str(row["name"]))
def test_both_verifiers_judge_a_line_as_the_family_says(row: Row, verifiers: Verifiers, tmp_path: Path) -> None:
    outcome = verifiers.run_json(alone(row, tmp_path))

    assert outcome.found == (row["verdict"], None if row["verdict"] == "PASS" else 1, row["check"])


def variants(name: str) -> list[Variant]:
    return VARIANTS[name](read(f"families/{name}.json"))


def _flips(family: Row) -> list[Variant]:
    data = (FOLDER / family["base"]).read_bytes()
    return [
        (f"byte {at} xor {flip['xor']}", families.flip(data, at, flip["xor"]), family["policy"], [], found)
        for flip in family["flips"]
        for first, last, *found in flip["runs"]
        for at in range(first, last + 1)
    ]


def _cuts(family: Row) -> list[Variant]:
    data = (FOLDER / family["base"]).read_bytes()
    return [
        (
            f"first {size} bytes",
            data[:size],
            family["policy"],
            ["--checkpoint", str(FOLDER / cut["checkpoint"])] if cut["checkpoint"] else [],
            found,
        )
        for cut in family["cuts"]
        for first, last, *found in cut["runs"]
        for size in range(first, last + 1)
    ]


def _orders(family: Row) -> list[Variant]:
    bases = [(FOLDER / name).read_bytes().split(b"\n") for name in family["bases"]]
    return [
        (
            order,
            b"".join(bases[base][number - 1] + b"\n" for base, number in families.order_of(order)),
            family["policy"],
            [],
            found,
        )
        for order, *found in family["orders"]
    ]


def _members(family: Row) -> list[Variant]:
    return [
        (f"{one['base']}: {words}", data[:at] + text.encode() + data[at + size :], one["policy"], [], found)
        for one in family["bases"]
        for data in [(FOLDER / one["base"]).read_bytes()]
        for words, at, size, text, *found in one["edits"]
    ]


VARIANTS: dict[str, Callable[[Row], list[Variant]]] = {
    "flips": _flips,
    "cuts": _cuts,
    "orders": _orders,
    "members": _members,
}


def judge_family(name: str, step: int, verifiers: Verifiers, folder: Path) -> int:
    chosen = variants(name)[::step]
    for start in range(0, len(chosen), BATCH):
        batch, lists = chosen[start : start + BATCH], []
        for place, (_, data, policy, more, _) in enumerate(batch):
            file = folder / f"{place}.jsonl"
            file.write_bytes(data)
            lists.append([str(file), "--policy", str(FOLDER / policy), *more])
        for (what, *_, found), outcome in zip(batch, verifiers.run_many(lists), strict=True):
            assert list(outcome.found) == found, what
    return len(chosen)


@pytest.mark.parametrize(("name", "step"), [("flips", 41), ("cuts", 29), ("orders", 3), ("members", 7)])
def test_both_verifiers_judge_a_sample_of_a_family_as_it_says(
    name: str, step: int, verifiers: Verifiers, tmp_path: Path
) -> None:
    assert judge_family(name, step, verifiers, tmp_path) > 30


@pytest.mark.fuzz
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["flips", "cuts", "orders", "members"])
def test_both_verifiers_judge_a_whole_family_as_it_says(name: str, verifiers: Verifiers, tmp_path: Path) -> None:
    assert judge_family(name, 1, verifiers, tmp_path) > 100


def test_no_turned_bit_and_no_missing_byte_passes() -> None:
    assert "PASS" not in {found[0] for *_, found in variants("flips")}
    ends = [0, *(at + 1 for at, byte in enumerate((FOLDER / "golden" / "three.jsonl").read_bytes()) if byte == 0x0A)]
    passing = [what for what, *_, found in variants("cuts") if found[0] == "PASS"]
    assert passing == [f"first {size} bytes" for size in (*ends, ends[-1])]
