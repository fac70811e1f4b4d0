"""The main job: from a person's message to a verified receipt, with every real part in place."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Person

CHAINS = ("turns", "decisions", "specs")


def receipt_lines(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if " | receipt " in line]


def verify(person: Person, chain: str, *, node: bool) -> subprocess.CompletedProcess[bytes]:
    folder = person.home / "receipts"
    command = (
        ["node", str(ROOT / "verifier" / "verify.mjs")] if node else ["python3", str(ROOT / "verifier" / "verify.py")]
    )
    command += [str(folder / "chains" / f"{chain}.jsonl"), "--policy", str(folder / f"policy-{chain}.json"), "--json"]
    return subprocess.run(command, capture_output=True, check=False, timeout=50)


@dataclass(frozen=True)
class Spoken(Person):
    """A person who has had two conversations, and what each showed; tests only read what that left."""

    first: str
    second: str


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Spoken:
    folder = tmp_path_factory.mktemp("spoken")
    person = Person(folder / "home", folder)
    first = person.chat("Remember that the design team prefers morning meetings.")
    second = person.chat(
        "Book a catch-up with the design team on Friday at 9am for 30 minutes",
        "What do you know about the design team?",
    )
    return Spoken(person.home, person.folder, first, second)


def test_what_is_told_in_one_conversation_is_known_and_used_in_the_next(spoken: Spoken) -> None:
    assert len(receipt_lines(spoken.first)) == 1
    assert "\x1b" not in spoken.first  # piped output is plain text
    assert "no language model" in spoken.first
    assert len(receipt_lines(spoken.second)) == 2
    assert "morning meetings" in spoken.second
    calendars = [path.read_text() for path in (spoken.home / "calendar").rglob("*.ics")]
    assert len(calendars) == 1
    assert "SUMMARY:Catch-up with the design team" in calendars[0]
    assert "T090000" in calendars[0]


@pytest.mark.parametrize("chain", CHAINS)
def test_both_verifiers_pass_each_chain_with_the_same_words(spoken: Person, chain: str) -> None:
    python, node = verify(spoken, chain, node=False), verify(spoken, chain, node=True)

    assert python.returncode == 0, python.stdout + python.stderr
    assert python.stdout == node.stdout
    assert node.returncode == 0


def test_every_turn_and_every_model_call_has_its_entry(spoken: Person) -> None:
    turns = [json.loads(line) for line in (spoken.home / "receipts/chains/turns.jsonl").read_text().splitlines()]
    decisions = (spoken.home / "receipts/chains/decisions.jsonl").read_text().splitlines()

    assert [turn["outcome"] for turn in turns] == ["replied"] * 3
    assert [row["tool"] for row in turns[0]["tools"]] == ["memory_remember"]
    assert len(decisions) == sum(turn["decisions"]["n"] for turn in turns)
    assert {json.loads(line)["modelIdentity"]["provider"] for line in decisions} == {"offline"}


def test_two_conversations_registered_the_spec_of_their_decisions_once(spoken: Person) -> None:
    chains = spoken.home / "receipts" / "chains"
    specs, decisions = (
        [json.loads(line) for line in (chains / f"{name}.jsonl").read_text().splitlines()]
        for name in ("specs", "decisions")
    )

    assert [entry["specId"] for entry in specs] == ["reply-drafter"]
    assert {entry["specHash"] for entry in decisions} == {specs[0]["specHash"]}
    assert specs[0]["recordedAtMs"] <= decisions[0]["recordedAtMs"]
    shown = spoken.run("agent-host", "specs", "show", specs[0]["specHash"][:8])
    assert hashlib.sha256(shown.stdout).hexdigest() == specs[0]["specHash"]


@pytest.mark.slow  # four processes
def test_receipts_can_be_listed_shown_and_verified_from_the_command_line(spoken: Person) -> None:
    listed = spoken.run("agent-host", "receipts", "list")
    shown = spoken.run("agent-host", "receipts", "show", "1")
    as_json = spoken.run("agent-host", "receipts", "show", "1", "--json")
    verified = spoken.run("agent-host", "receipts", "verify")

    assert listed.returncode == shown.returncode == as_json.returncode == verified.returncode == 0, verified.stdout
    assert b"#1" in listed.stdout
    assert b"memory_remember" in shown.stdout
    document = json.loads(as_json.stdout)
    assert document["turn"]["decisions"]["n"] == len(document["decisions"])
    assert verified.stdout.strip().endswith(b"VERDICT PASS: keys, turns, decisions, specs")


@pytest.mark.parametrize("chain", CHAINS)
def test_one_flipped_byte_is_found_and_named(spoken: Person, tmp_path: Path, chain: str) -> None:
    shutil.copytree(spoken.home / "receipts", tmp_path / "home" / "receipts")
    person = Person(tmp_path / "home", tmp_path)
    path = person.home / "receipts" / "chains" / f"{chain}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    field = b'"specHash":"' if chain == "specs" else b'"inputHash":"'
    last = lines[-1]
    at = last.index(field) + len(field)
    lines[-1] = last[:at] + (b"0" if last[at : at + 1] != b"0" else b"1") + last[at + 1 :]
    path.write_bytes(b"".join(lines))

    verified = person.run("agent-host", "receipts", "verify", "--json")

    document = json.loads(verified.stdout)
    report = document["chains"][chain]
    assert verified.returncode == document["exit"] == 1
    assert (document["verdict"], report["id"], report["check"]) == ("TAMPERED", len(lines), "hash")


def test_a_chain_that_was_deleted_is_never_a_pass(spoken: Person, tmp_path: Path) -> None:
    shutil.copytree(spoken.home / "receipts", tmp_path / "home" / "receipts")
    person = Person(tmp_path / "home", tmp_path)
    (person.home / "receipts" / "chains" / "decisions.jsonl").unlink()

    verified = person.run("agent-host", "receipts", "verify")

    assert verified.returncode == 2
    assert b"VERDICT NOT CHECKED: decisions" in verified.stdout.splitlines()[-1]


def test_what_was_said_is_nowhere_on_the_ledger(spoken: Person) -> None:
    ledger = b"".join(path.read_bytes() for path in (spoken.home / "receipts").rglob("*") if path.is_file())

    assert len(ledger) > 1_000
    assert b"morning" not in ledger
    assert b"design team" not in ledger


def test_everything_a_person_owns_is_theirs_alone(spoken: Person) -> None:
    paths = [path for path in spoken.home.rglob("*") if not path.is_symlink()]

    assert len(paths) > 10
    assert [path.relative_to(spoken.home) for path in paths if path.stat().st_mode & 0o077] == []


def test_ask_runs_one_turn_for_scripts(person: Person) -> None:
    person.without_tools()
    done = person.run("agent-host", "ask", "What is 12 * (3 + 4)?", "--json")

    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert "84" in document["reply"]
    assert document["outcome"] == "replied"
    assert document["receipt"]["id"] == 1
    assert json.loads(document["receipt"]["line"])["turnId"] == document["turn_id"]


def test_ask_reads_a_message_from_standard_input(person: Person) -> None:
    person.without_tools()
    done = person.run("agent-host", "ask", "-", text=b"What is 2 + 3?")

    assert done.returncode == 0
    assert b"5" in done.stdout
    assert b"receipt 1 signed" in done.stdout


@pytest.mark.slow  # starts every server twice; tests/agent_host/gateways/test_sessions.py is the everyday one
def test_a_conversation_goes_on_in_another_process_where_it_ended(person: Person) -> None:
    asked = person.chat("My neighbour Ana likes green tea")
    assert "Shall I remember" in asked

    resumed = person.run("agent-host", "chat", "--continue", text=b"yes\n/sessions\n")

    shown = resumed.stdout.decode()
    assert "Going on with \u201cMy neighbour Ana likes green tea\u201d (1 turn)." in shown
    assert "1 kept" in shown
    assert "(2 turns, s_" in shown
