"""What may be given to a verifier, how large it may be, and whether the report reached anyone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.verifier import ledger
from tests.verifier.both import NOW_MS, Verifiers
from verifier import verify

ROOT = Path(__file__).parents[2]
PROGRAMS = {"py": [sys.executable, "verifier/verify.py"], "mjs": ["node", "verifier/verify.mjs"]}
CORPUS = ROOT / "verifier" / "vectors" / "v3"
REGULAR = "is not a regular file; save it to one first."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A chain, its policy, a checkpoint, a pipe that nobody writes to and an empty folder."""
    chain = ledger.Chain().fill(3)
    (tmp_path / "decisions.jsonl").write_bytes(chain.content)
    (tmp_path / "policy.json").write_text(json.dumps(ledger.policy()))
    (tmp_path / "three.checkpoint").write_bytes(chain.checkpoint(3))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def named(home: Path, words: Sequence[str]) -> list[str]:
    """Words of a command line, each that names something there with its folder."""
    return [str(home / word) if (home / word).exists() and word else word for word in words]


SOUND = ["decisions.jsonl", "--policy", "policy.json"]


@pytest.mark.parametrize(
    "words",
    [
        ["pipe"],
        ["pipe", "--policy", "policy.json"],
        ["decisions.jsonl", "pipe"],
        ["decisions.jsonl", "--policy", "pipe"],
        [*SOUND, "--checkpoint", "pipe"],
        [*SOUND, "--key-log", "pipe"],
        [*SOUND, "--key-log", "folder"],
        [*SOUND, "--checkpoint", "folder"],
    ],
    ids=" ".join,
)
def test_what_can_be_read_only_once_is_refused_unread(words: list[str], home: Path, verifiers: Verifiers) -> None:
    outcome = verifiers.run(named(home, words))

    assert (outcome.exit, outcome.stdout) == (2, "")
    assert REGULAR in outcome.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tampered_chain_through_a_pipe_never_passes(name: str, home: Path) -> None:
    key = ledger.public(ledger.ENTRY_KEY)
    (home / "tampered").write_bytes(ledger.Chain().fill(3).content.replace(b":1202", b":1203"))
    shell = 'cat "$0" | "${@}" /dev/stdin'

    ran = subprocess.run(
        ["/bin/bash", "-c", shell, str(home / "tampered"), *PROGRAMS[name], "--trusted-key", key],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (ran.returncode, ran.stdout) == (2, "")
    assert REGULAR in ran.stderr


def test_a_link_to_a_file_is_that_file(home: Path, verifiers: Verifiers) -> None:
    (home / "link").symlink_to("decisions.jsonl")

    assert verifiers.run(named(home, ["link", "--policy", "policy.json"])).found == ("PASS", None, None)


@pytest.mark.parametrize("name", ["turns.jsonl", "state.json", "policy-turns.json"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling"])
def test_in_a_folder_what_is_named_like_a_chain_must_be_a_file(
    name: str, kind: str, home: Path, verifiers: Verifiers
) -> None:
    (home / name).symlink_to(kind)

    assert verifiers.run([str(home), "--policy", str(home)]).exit == 2


@pytest.mark.parametrize(
    "words", [["decisions.jsonl/"], ["policy.json/"], ["decisions.jsonl", "--policy", "policy.json/"]]
)
def test_a_file_is_no_folder(words: list[str], home: Path, verifiers: Verifiers) -> None:
    assert verifiers.run([f"{home}/{word}" if "." in word else word for word in words]).exit == 2


@pytest.mark.parametrize(
    "words",
    [[""], ["decisions.jsonl", ""], *(["decisions.jsonl", option, ""] for option in ("--policy", "--checkpoint")),
     [*SOUND, "--key-log", ""]],
    ids=" ".join,
)  # fmt: skip
def test_an_empty_path_is_a_usage_error(
    words: list[str], home: Path, verifiers: Verifiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)

    outcome = verifiers.run(named(home, words))

    assert (outcome.exit, outcome.stdout) == (2, "")


def test_a_folder_behind_a_link_is_not_named_otherwise(home: Path, verifiers: Verifiers) -> None:
    (home / "deep" / "inside").mkdir(parents=True)
    (home / "deep" / "turns.jsonl").write_bytes(ledger.Chain(ledger.TURNS).fill(1).content)
    (home / "link").symlink_to("deep/inside")

    outcome = verifiers.run([f"{home}/link/.."])

    assert [report["input"] for report in outcome.report["reports"]] == ["turns.jsonl"]


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (["decisions.jsonl", "--policy", "big"], verify.BOUNDS["policy"]),
        ([*SOUND, "--checkpoint", "big"], verify.BOUNDS["checkpoint"]),
        (["big"], verify.BOUNDS["proof"]),
        (["big.json"], verify.BOUNDS["state"]),
    ],
    ids=["policy", "checkpoint", "proof", "state"],
)
def test_evidence_larger_than_it_can_be_is_not_read(
    words: list[str], size: int, home: Path, verifiers: Verifiers
) -> None:
    for name in ("big", "big.json"):
        (home / name).write_bytes(b"c2sp.org/tlog-proof@v1\n".ljust(size + 1))

    outcome = verifiers.run(named(home, words))

    assert outcome.exit == 2
    assert f"has {size + 1} bytes; a " in outcome.stderr


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("chain", ["decisions.jsonl", "tampered"])
def test_a_report_that_nobody_got_is_exit_2(name: str, chain: str, home: Path) -> None:
    (home / "tampered").write_bytes(ledger.Chain().fill(3).content.replace(b":1202", b":1203"))
    words = [*PROGRAMS[name], *named(home, [chain, "--policy", "policy.json"])]
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full, os.fdopen(writer, "wb") as broken:
        for stdout in (full, broken):
            ran = subprocess.run(words, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=60)
            assert ran.returncode == 2
            assert ran.stderr.endswith(b"verify: the report could not be written\n")


def test_a_closed_stdout_is_exit_2_where_the_language_can_tell(home: Path) -> None:
    words = [*PROGRAMS["py"], *named(home, SOUND)]

    ran = subprocess.run(
        ["/bin/bash", "-c", '"$0" "$@" >&-', *words], cwd=ROOT, capture_output=True, check=False, timeout=60
    )

    assert ran.returncode == 2


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_closed_or_full_stderr_changes_nothing(name: str, where: str, home: Path) -> None:
    for words, code in ((SOUND, 0), (["decisions.jsonl"], 3), (["missing"], 2)):
        line = [*PROGRAMS[name], *named(home, words)]
        ran = subprocess.run(
            ["/bin/bash", "-c", f'"$0" "$@" {where}', *line], cwd=ROOT, stdout=subprocess.PIPE, check=False, timeout=60
        )
        assert ran.returncode == code
        assert (b"VERDICT" in ran.stdout) == (code != 2)


def notes_of(verifiers: Verifiers, words: Sequence[str], now_ms: int = NOW_MS) -> list[str]:
    notes: list[str] = verifiers.run(words, now_ms).report["notes"]
    return notes


def test_an_empty_chain_says_that_nothing_was_checked(home: Path, verifiers: Verifiers) -> None:
    (home / "decisions.jsonl").write_bytes(b"")
    words = named(home, SOUND)

    assert "This chain is empty: nothing was checked." in notes_of(verifiers, words)
    page = verify.run(words, NOW_MS)[1]
    assert " ok " not in page
    assert "Body hashes       -     0/0" in page


def test_a_key_nobody_trusts_is_named_with_what_to_do(home: Path, verifiers: Verifiers) -> None:
    (home / "decisions.jsonl").write_bytes(ledger.Chain(key=ledger.OTHER_KEY).fill(2).content)
    name = ledger.sha(bytes(ledger.OTHER_KEY.verify_key))

    words = f"Key {name} is not trusted by the policy; if it came by a rotation, give the key log with --key-log."
    assert words in notes_of(verifiers, named(home, SOUND))


def test_a_policy_of_another_chain_is_named(home: Path, verifiers: Verifiers) -> None:
    (home / "policy.json").write_text(json.dumps(ledger.policy(ledger.TURNS)))

    words = "The policy is for turns; the first line looks like decisions."
    assert words in notes_of(verifiers, named(home, SOUND))


def test_a_chain_below_what_was_asked_says_by_how_much(home: Path, verifiers: Verifiers) -> None:
    notes = notes_of(verifiers, [*named(home, SOUND), "--min-entries", "5"])

    assert "3 entries, at least 5 were asked for." in notes


@pytest.mark.parametrize(("ahead_ms", "said"), [(300_000, False), (300_001, True)])
def test_a_checkpoint_from_the_future_is_told(ahead_ms: int, said: bool, home: Path, verifiers: Verifiers) -> None:
    words, at_ms = named(home, [*SOUND, "--checkpoint", "three.checkpoint"]), ledger.START_MS + 3000
    note = "The newest checkpoint lies in the future by the clock of this machine."

    assert (note in notes_of(verifiers, [*words, "--max-age", "1d"], at_ms - ahead_ms)) == said
    assert note not in notes_of(verifiers, words, at_ms - ahead_ms)


def test_a_folder_tells_what_in_it_was_not_judged(home: Path, verifiers: Verifiers) -> None:
    (home / "strange\x1b.jsonl").write_bytes(b"")
    (home / "policy-turns.json").write_text(json.dumps(ledger.policy(ledger.TURNS)))
    (home / "policy-decisions.json").write_text(json.dumps(ledger.policy()))

    assert notes_of(verifiers, [str(home), "--policy", str(home)]) == [
        "These files are named after no chain and were not judged: strange?.jsonl.",
        "These folders were not looked into: folder.",
        f"These policies are for nothing that was given: {ledger.TURNS}.",
    ]
    page = verify.run([str(home), "--policy", str(home)], NOW_MS)[1]
    assert page.split("OVERALL VERDICT")[1].startswith("   PASS (exit 0), 1 reports\n\nNote: These files")


def test_a_state_that_is_not_the_newest_is_told(verifiers: Verifiers) -> None:
    older = [str(CORPUS / name) for name in ("ledger/state.jsonl", "states/alone-good.json")]
    states = (CORPUS / "ledger" / "state.jsonl").read_bytes().split(b"\n")

    assert len(states) == 3
    notes = [report["notes"] for report in verifiers.run(older).report["reports"]]
    assert not any("goes on" in note for note in notes[1])


def test_a_state_behind_its_chain_is_told(verifiers: Verifiers, tmp_path: Path) -> None:
    states = (CORPUS / "ledger" / "state.jsonl").read_bytes().split(b"\n")
    (tmp_path / "state.json").write_bytes(states[0] + b"\n")

    reports = verifiers.run([str(CORPUS / "ledger" / "state.jsonl"), str(tmp_path / "state.json")]).report["reports"]

    assert "This is state 1; the chain of states goes on to 2." in reports[1]["notes"]


LOGGED = [
    "keylogs/half-and-half.jsonl",
    "--policy",
    "policies/decisions.json",
    "--key-log",
    "keylogs/rotation.log.jsonl",
]
CUT = "No checkpoint of the key log was given: a rotation or revocation cut from its end cannot be seen."


def test_the_notes_name_the_key_log_and_what_it_cannot_show(verifiers: Verifiers) -> None:
    words = [word if word.startswith("--") else str(CORPUS / word) for word in LOGGED]
    checkpoint = str(CORPUS / "checkpoints" / "key-log-of-three.checkpoint")

    alone, held = notes_of(verifiers, words), notes_of(verifiers, [*words, "--checkpoint", checkpoint])

    assert alone[0].startswith("Key log rotation.log.jsonl: 3 entries, head ")
    assert CUT in alone
    assert alone[0] in held
    assert CUT not in held


def test_a_key_log_is_judged_once_for_all_chains_under_one_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    examine, read = verify.examine, list[str]()

    def counted(reader: verify.Reader, *rest: Any) -> None:
        read.append(reader.path.name)
        examine(reader, *rest)

    monkeypatch.setattr(verify, "examine", counted)
    ledger_folder = str(CORPUS / "ledger")

    code, *_ = verify.run(
        [
            ledger_folder,
            "--policy",
            ledger_folder,
            "--key-log",
            str(CORPUS / "keylogs/log-before-the-rotation.log.jsonl"),
        ],
        NOW_MS,
    )

    assert code == 0
    assert read.count("log-before-the-rotation.log.jsonl") == 1


def test_a_chain_that_changes_while_it_is_read_is_no_chain() -> None:
    one, other = (ledger.Chain().fill(2, latencyMs=latency) for latency in (1, 2))
    entries = [verify.read_line(chain.lines[0], "L12") for chain in (one, other)]
    found, block = verify.Findings(last=entries[0]), verify.Findings(before=entries[1])

    with pytest.raises(verify.UsageError, match="changed while it was read"):
        found.join(block)
