"""Section 8 of the ledger's norm: what a person and a program read, and that neither can be misled by an entry."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from nacl.signing import SigningKey

from tests.verifier import ledger
from tests.verifier.both import Outcome, Verifiers, run_python
from tests.verifier.conftest import Judge
from verifier import verify

ROOT = Path(__file__).parents[2]
PROGRAMS = {"py": [sys.executable, "verifier/verify.py"], "mjs": ["node", "verifier/verify.mjs"]}
MEMBERS = (
    "verdict exit id check offset entries signatures headHash rootHash earliest latest keys checkpoints anchor notes"
)


def command(name: str, *args: str, cwd: Path = ROOT) -> Outcome:
    ran = subprocess.run([*PROGRAMS[name], *args], cwd=cwd, capture_output=True, check=False, timeout=60)
    return Outcome(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def text_of(judge: Judge, tmp_path: Path, chain: ledger.Chain, *args: str) -> str:
    judge(chain, *args)
    return run_python([str(tmp_path / "chain.jsonl"), "--policy", str(tmp_path / "policy.json"), *args]).stdout


def test_the_json_report_has_the_members_of_the_norm_in_their_order(judge: Judge) -> None:
    chain = ledger.Chain().fill(3)

    report = judge(chain, checkpoints=[chain.checkpoint(2)]).report

    assert list(report) == MEMBERS.split()
    assert report == {
        "verdict": "PASS",
        "exit": 0,
        "id": None,
        "check": None,
        "offset": None,
        "entries": 3,
        "signatures": 3,
        "headHash": chain.head,
        "rootHash": ledger.tree_root(chain.lines).hex(),
        "earliest": ledger.iso(ledger.START_MS + 1000),
        "latest": ledger.iso(ledger.START_MS + 3000),
        "keys": [{"fingerprint": ledger.sha(bytes(ledger.ENTRY_KEY.verify_key)), "entries": 3}],
        "checkpoints": [{"size": 2, "ok": True}],
        "anchor": None,
        "notes": [],
    }


def test_the_text_report_shows_every_check_of_the_norm(judge: Judge, tmp_path: Path) -> None:
    text = text_of(judge, tmp_path, ledger.Chain().fill(3))

    for line in [
        "Entries           ok    3",
        "Malformed lines   ok    0",
        "Ids contiguous    ok    3/3",
        "Hash chain        ok    3/3",
        "One tenant        ok    3/3",
        "Body hashes       ok    3/3",
        "Timestamps        ok    3/3",
        "Trust anchor      ok    3/3",
        "Signatures        ok    3/3",
        f"  key {ledger.sha(bytes(ledger.ENTRY_KEY.verify_key))} trusted, 3 entries",
        "Checkpoints       -     none given, so a cut tail cannot be seen",
        "Anchor age        -     no anchor given",
        f"Earliest          {ledger.iso(ledger.START_MS + 1000)}",
        f"Latest            {ledger.iso(ledger.START_MS + 3000)}",
        "VERDICT           PASS (exit 0)",
    ]:
        assert line in text.splitlines()
    assert "What a PASS does not prove: that a record is true, that every act was recorded" in text


def test_a_failed_check_is_marked_and_the_verdict_says_where(judge: Judge, tmp_path: Path) -> None:
    chain = ledger.Chain().fill(3)
    chain.lines[1] = chain.lines[1].replace(b'"latencyMs":1202', b'"latencyMs":1203')

    text = text_of(judge, tmp_path, chain)

    assert "Body hashes       FAIL  2/3" in text
    assert "Signatures        FAIL  2/3" in text
    assert f"VERDICT           TAMPERED (exit 1), id 2, check hash, offset {len(chain.lines[0]) + 1}" in text
    assert "Head hash         none" in text


def test_level_chain_leaves_signatures_out_and_says_so(judge: Judge, tmp_path: Path) -> None:
    chain = ledger.Chain().fill(3)
    signature = chain.lines[1].index(b'"signature":"') + 13
    chain.lines[1] = chain.lines[1][:signature] + b"AAAA" + chain.lines[1][signature + 4 :]

    outcome = judge(chain, "--level", "chain")
    assert outcome.found == ("PASS", None, None)
    assert outcome.report["signatures"] == 0
    assert any("a forged one passes unseen" in note for note in outcome.report["notes"])
    assert "Signatures        -     not checked" in text_of(judge, tmp_path, chain, "--level", "chain")
    assert judge(chain, "--level", "full").found == ("TAMPERED", 2, "signature")


def test_no_text_of_an_entry_reaches_the_terminal(judge: Judge, tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\u202e\u2028<script>"
    chain = ledger.Chain().add(ledger.decision(1, productId=nasty)).fill(2)

    for content in (chain, ledger.Chain(lines=[*chain.lines, nasty.encode()])):
        outcome = judge(content)
        text = text_of(judge, tmp_path, content)
        assert outcome.stdout.isascii()
        assert text.isascii()
        assert not {c for c in text + outcome.stdout if c < " "} - {"\n"}


@pytest.mark.parametrize("name", ["päivä 😀.jsonl", "a\x1b[31mb.jsonl", "spaces and 'quotes'", "a\nb", "-"])
def test_a_file_name_is_printed_harmlessly(name: str, verifiers: Verifiers, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(ledger.Chain().fill(1).content)

    outcome = verifiers.run([str(file)])

    assert outcome.exit == 3
    assert run_python([str(file)]).stdout.isascii()


def test_more_keys_than_can_be_listed_do_not_fill_the_report(judge: Judge) -> None:
    chain = ledger.Chain()
    for number in range(1, 81):
        chain.add(ledger.decision(number), key=SigningKey(hashlib.sha256(bytes([number])).digest()))

    report = judge(chain, policy=None).report

    assert len(report["keys"]) == verify.MAX_KEYS_LISTED
    assert (report["entries"], report["signatures"]) == (80, 80)


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["a", "b", "c"],
        ["chain", "--level", "time"],
        ["chain", "--level", ""],
        ["chain", "--layer", "L8"],
        ["chain", "--layer", "l12"],
        ["chain", "--min-entries", "-1"],
        ["chain", "--min-entries", "1.5"],
        ["chain", "--min-entries", "x"],
        ["chain", "--min-entries", "1_0"],
        ["chain", "--min-entries", ""],
        ["chain", "--max-age", "24"],
        ["chain", "--max-age", "h"],
        ["chain", "--max-age", "1.5h"],
        ["chain", "--max-age", "1w"],
        ["chain", "--max-age", ""],
        ["chain", "--trusted-key", "AAAA"],
        ["chain", "--trusted-key", ""],
        ["chain", "--policy"],
        ["chain", "--json=1"],
        ["chain", "--nonsense"],
        ["chain", "-x"],
        ["chain", "--pol", "policy"],
        ["chain", "--policy", "missing"],
        ["chain", "--checkpoint", "missing"],
        ["missing"],
        ["."],
        ["chain", "missing"],
        ["chain", "."],
        ["chain", "--policy", "."],
        ["chain", "--checkpoint", "."],
        [""],
        ["chain", "--policy", "policy", "--layer", "L10"],
        ["chain", "--policy", "chain"],
        ["chain", "--checkpoint", "chain"],
    ],
    ids=" ".join,
)
def test_a_usage_error_has_a_message_and_no_report(args: list[str], verifiers: Verifiers, tmp_path: Path) -> None:
    (tmp_path / "chain").write_bytes(ledger.Chain().fill(1).content)
    (tmp_path / "policy").write_text(json.dumps(ledger.policy()))
    place = {"chain", "policy", "missing", "."}

    outcome = verifiers.run([str(tmp_path / arg) if arg in place else arg for arg in args])

    assert (outcome.exit, outcome.stdout) == (2, "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_and_version_need_no_chain(name: str) -> None:
    shown, version = command(name, "--help"), command(name, "--version")
    own = hashlib.sha256((ROOT / "verifier" / f"verify.{name}").read_bytes()).hexdigest()

    assert shown.exit == version.exit == 0
    assert version.stdout == f"verify.{name} {verify.VERSION} sha256 {own}\n"
    for option in (
        "policy",
        "trusted-key",
        "checkpoint",
        "min-entries",
        "max-age",
        "level",
        "layer",
        "json",
        "version",
    ):
        assert f"--{option}" in shown.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_file_alone_works_anywhere(name: str, tmp_path: Path) -> None:
    chain = ledger.Chain().fill(3)
    (tmp_path / "chain.jsonl").write_bytes(chain.content)
    (tmp_path / "policy.json").write_text(json.dumps(ledger.policy()))
    (tmp_path / f"verify.{name}").write_bytes((ROOT / "verifier" / f"verify.{name}").read_bytes())
    program = [*PROGRAMS[name][:1], *(["-I", "-S"] if name == "py" else []), f"verify.{name}"]

    ran = subprocess.run(
        [*program, "chain.jsonl", "--policy", "policy.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0
    assert "VERDICT           PASS (exit 0)" in ran.stdout
    assert ("PyNaCl is not installed" in ran.stderr) == (name == "py")


def test_the_installed_command_takes_no_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "chain").write_bytes(b"")
    monkeypatch.setattr(sys, "argv", ["receipt-verify", str(tmp_path / "chain")])

    assert verify.main() == 3
    assert "VERDICT           UNANCHORED (exit 3)" in capsys.readouterr().out


def test_an_error_nobody_foresaw_does_not_exit_as_tampered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(verify, "run", broken)

    assert verify.main() == 2
    assert "the disk is on fire" in capsys.readouterr().err
