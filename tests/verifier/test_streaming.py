"""Section 9 of the ledger's norm: a file of any length in flat memory, in one process or in several, same report."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.verifier import ledger
from tests.verifier.both import Outcome, Verifiers, run_python
from verifier import verify

ROOT = Path(__file__).parents[2]
PROGRAMS = {"py": [sys.executable, "verifier/verify.py"], "mjs": ["node", "verifier/verify.mjs"]}
pytestmark = pytest.mark.usefixtures("small_blocks")
SIZE = 500  # entries: several blocks in both verifiers
MEGABYTE = 1 << 20
Change = Callable[[list[bytes]], list[bytes]]


@pytest.fixture(scope="module")
def chain() -> ledger.Chain:
    return ledger.Chain().fill(SIZE)


def write(folder: Path, chain: ledger.Chain, *sizes: int) -> list[str]:
    (folder / "chain.jsonl").write_bytes(chain.content)
    (folder / "policy.json").write_text(json.dumps(ledger.policy()))
    args = [str(folder / "chain.jsonl"), "--policy", str(folder / "policy.json"), "--json"]
    for size in sizes:
        (folder / f"{size}.checkpoint").write_bytes(chain.checkpoint(size))
        args += ["--checkpoint", str(folder / f"{size}.checkpoint")]
    return args


def everywhere(args: list[str], verifiers: Verifiers) -> Outcome:
    """One answer from one and from three processes or threads of both verifiers."""
    outcomes = [run_python(args, workers=n) for n in (1, 3)] + [verifiers.run_node(args, threads=n) for n in (1, 3)]
    assert len({(outcome.exit, outcome.stdout) for outcome in outcomes}) == 1
    return outcomes[0]


CHANGES: dict[str, tuple[Change, tuple[str | None, int | None, str | None]]] = {
    "nothing": (lambda x: x, ("PASS", None, None)),
    "a line early": (lambda x: [*x[:3], x[3] + b" ", *x[4:]], ("MALFORMED", 4, "encoding")),
    "a line late": (lambda x: [*x[:450], x[450].replace(b'"ok"', b'"okay"'), *x[451:]], ("MALFORMED", 451, "schema")),
    "two lines, far apart": (
        lambda x: [*x[:300], x[300] + b" ", *x[301:490], b"", *x[491:]],
        ("MALFORMED", 301, "encoding"),
    ),
    "a line missing": (lambda x: x[:400] + x[401:], ("TAMPERED", 402, "id")),
    "an endless line": (lambda x: [*x[:400], b"x" * MEGABYTE, *x[400:]], ("MALFORMED", 401, "encoding")),
    "a fork": (lambda x: [*x[:480], x[479], *x[480:]], ("FORKED", 480, "id")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_workers_change_nothing_in_the_report(
    change: str, chain: ledger.Chain, verifiers: Verifiers, tmp_path: Path
) -> None:
    apply, expected = CHANGES[change]

    outcome = everywhere(write(tmp_path, ledger.Chain(lines=apply(chain.lines))), verifiers)

    assert outcome.found == expected


def test_the_offset_of_the_first_bad_line_is_right_in_any_block(
    chain: ledger.Chain, verifiers: Verifiers, tmp_path: Path
) -> None:
    for bad in (0, 57, 58, 59, 233, 234, 235, SIZE - 1):
        lines = [
            *chain.lines[:bad],
            chain.lines[bad].replace(b'"latencyMs":', b'"latencyMs": '),
            *chain.lines[bad + 1 :],
        ]

        report = everywhere([*write(tmp_path, ledger.Chain(lines=lines)), "--level", "chain"], verifiers).report

        assert (report["id"], report["offset"]) == (bad + 1, sum(len(line) + 1 for line in lines[:bad]))


def test_roots_are_those_of_the_definition_wherever_blocks_end(
    chain: ledger.Chain, verifiers: Verifiers, tmp_path: Path
) -> None:
    sizes = [1, 2, 3, 57, 58, 59, 64, 233, 234, 235, 255, 256, 257, SIZE - 1, SIZE]

    outcome = everywhere(write(tmp_path, chain, *sizes), verifiers)

    assert outcome.found == ("PASS", None, None)
    assert outcome.report["rootHash"] == ledger.tree_root(chain.lines).hex()
    assert [met["size"] for met in outcome.report["checkpoints"] if met["ok"]] == sizes


def test_a_forked_copy_is_found_in_any_block(chain: ledger.Chain, verifiers: Verifiers, tmp_path: Path) -> None:
    for differs_at in (1, 60, 300, SIZE):
        other = ledger.Chain(lines=chain.lines[: differs_at - 1], head=ledger.sha(body_of(chain, differs_at - 1)))
        other.add(ledger.decision(differs_at, latencyMs=1)).fill(SIZE)
        (tmp_path / "copy.jsonl").write_bytes(other.content)
        first, *rest = write(tmp_path, chain)

        outcome = everywhere([first, str(tmp_path / "copy.jsonl"), *rest, "--level", "chain"], verifiers)

        assert outcome.found == ("FORKED", differs_at, "copies")


def body_of(chain: ledger.Chain, number: int) -> bytes:
    """The body of an entry; for number 0 what the genesis hash is of."""
    if number == 0:
        return f"prometheus-receipts genesis v1\n{chain.origin}\n".encode()
    return chain.lines[number - 1].partition(b',"hash":"')[0] + b"}"


MERKLE = json.loads((ROOT / "verifier" / "vectors" / "v2" / "merkle.json").read_text())


@pytest.mark.parametrize("size", range(len(MERKLE["roots"])))
def test_small_trees_have_the_roots_of_the_vectors(size: int, verifiers: Verifiers) -> None:
    leaves = [hashlib.sha256(b"\x00%d" % i).digest() for i in range(size)]
    tree: list[bytes] = []
    for leaf in leaves:
        verify.grow(tree, leaf)

    assert verify.root_of(tree).hex() == MERKLE["roots"][size]
    assert verifiers.ask_node(ask="root", leaves=[leaf.hex() for leaf in leaves]) == MERKLE["roots"][size]


WEIGH = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""
"""Runs a program and tells its peak memory; itself small, as a forked child begins with its parent's."""


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("piece", "pieces", "code"),
    [(b"x" * MEGABYTE, 120, 3), (b"[" * MEGABYTE + b"\n", 60, 8)],
    ids=["one torn tail", "long lines"],
)
def test_memory_stays_flat_whatever_the_file_holds(
    name: str, piece: bytes, pieces: int, code: int, tmp_path: Path
) -> None:
    with (tmp_path / "chain").open("wb") as file:
        for _ in range(pieces):
            file.write(piece)

    done = subprocess.run(
        [sys.executable, "-S", "-c", WEIGH, *PROGRAMS[name], str(tmp_path / "chain")],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )

    assert done.returncode == code
    assert int(done.stderr.splitlines()[-1]) < 130 * 1024  # kilobytes; the file alone has as many
