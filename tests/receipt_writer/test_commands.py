"""Commands that talk to a writer: their own for the moment, or one that runs."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from receipt_writer.app import open_service
from tests.receipt_writer.commands import Commands
from tests.receipt_writer.parts import decision, ulid

pytestmark = pytest.mark.slow  # starts many processes

ROOT = Path(__file__).parents[2]
ZEROS = "0" * 64


def call(number: int, **changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "productId": "p",
        "callId": ulid("c_", number),
        "client": "claude",
        "server": "memory",
        "tool": "memory_search",
        "toolListHash": ZEROS,
        "argumentsHash": ZEROS,
        "resultHash": None,
        "state": "admitted",
        "latencyMs": 0,
        "commitment": "hmac-sha256",
    }
    return members | changes


PYTHON, NODE = (sys.executable, "verify.py"), ("node", "verify.mjs")


def verify(folder: Path, chain: str, *words: str, by: tuple[str, str] = PYTHON) -> dict[str, Any]:
    """Return what an offline verifier says of a chain under the ledger's first policy file."""
    program, name = by
    command = [program, str(ROOT / "verifier" / name), str(folder / "chains" / f"{chain}.jsonl"), "--json"]
    done = subprocess.run(
        [*command, "--policy", str(folder / f"policy-{chain}.json"), *words], capture_output=True, check=False
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture
def ledger(commands: Commands) -> Commands:
    """A ledger that was opened once, so that its keys are recorded."""
    (commands.home / "receipts").mkdir(mode=0o700)
    open_service(commands.folder).store.close()
    return commands


@pytest.fixture
def address(ledger: Commands, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a writer of the ledger serves."""
    socket = f"unix:{tmp_path_factory.mktemp('w')}/s"
    command = [sys.executable, "-m", "receipt_writer", "serve", "--listen", socket, "--home", str(ledger.home)]
    with subprocess.Popen([*command, "--exit-with-stdin"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stdin is not None
        assert any(b"ready:" in line for line in process.stderr)
        yield socket
        process.stdin.close()
        process.stderr.read()


def test_what_was_signed_before_and_after_a_rotation_verifies_under_the_first_policy(ledger: Commands) -> None:
    draft = ledger.home / "call.json"
    draft.write_text(json.dumps(call(1)))
    assert ledger.run("record", "calls", str(draft)).status == 0
    rotated = json.loads(ledger.run("rotate", "entry", "--reason", "spring", "--json").out)
    draft.write_text(json.dumps(call(2)))
    assert json.loads(ledger.run("record", "calls", str(draft)).out)["id"] == 2
    assert (rotated["event"], rotated["reason"]) == ("rotated", "spring")
    assert verify(ledger.folder, "calls")["verdict"] == "TAMPERED"
    log = str(ledger.folder / "chains" / "keys.jsonl")
    assert verify(ledger.folder, "calls", "--key-log", log)["verdict"] == "PASS"
    page = ledger.run("show", "2", "--chain", "calls", "--html", "-").out
    assert "--key-log keys.jsonl" in page
    revoked = ledger.run("revoke", "entry", rotated["previousKey"], "--reason", "lost", "--at", "calls=1")
    assert revoked.status == 0
    assert verify(ledger.folder, "calls", "--key-log", log)["id"] == 1


@pytest.mark.parametrize("verifier", [PYTHON, NODE], ids=["python", "node"])
def test_a_checkpoint_by_a_key_that_the_log_leads_to_covers_the_log_itself(
    ledger: Commands, verifier: tuple[str, str]
) -> None:
    assert ledger.run("rotate", "checkpoint", "--reason", "spring").status == 0
    chains = ledger.folder / "chains"
    evidence = ("--key-log", str(chains / "keys.jsonl"), "--checkpoint", str(chains / "keys.checkpoint"))
    report = verify(ledger.folder, "keys", *evidence, by=verifier)
    assert (report["verdict"], report["checkpoints"]) == ("PASS", [{"size": 3, "ok": True}])
    lines = (chains / "keys.jsonl").read_bytes().splitlines(keepends=True)
    (ledger.home / "cut.jsonl").write_bytes(b"".join(lines[:2]))
    cut = ("--key-log", str(ledger.home / "cut.jsonl"), "--checkpoint", str(chains / "keys.checkpoint"))
    with pytest.raises(json.JSONDecodeError):  # no evidence: exit 2, and no report
        verify(ledger.folder, "turns", *cut, by=verifier)


def test_a_release_is_recorded_with_the_digests_of_both_verifiers(ledger: Commands) -> None:
    wheel = ledger.home / "a.whl"
    wheel.write_bytes(b"wheel")
    words = ("--artefact", str(wheel), "--lock", str(ROOT / "requirements.lock"), "--gate", "passed", "--json")
    entry = json.loads(ledger.run("build", "9.9.9", *words).out)
    assert entry["artefacts"] == [{"name": "a.whl", "digest": hashlib.sha256(b"wheel").hexdigest()}]
    digests = {one["name"]: one["digest"] for one in entry["verifiers"]}
    for name in ("verify.py", "verify.mjs"):
        assert digests[name] == hashlib.sha256((ROOT / "verifier" / name).read_bytes()).hexdigest()
    assert verify(ledger.folder, "builds")["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gate", "maybe", "--artefact", "x"], "--gate 'maybe' is no verdict"),
        (["--artefact", "/no/such/file"], "/no/such/file cannot be read"),
    ],
)
def test_a_release_that_cannot_be_recorded_is_told_before_anything_starts(
    ledger: Commands, words: list[str], said: str
) -> None:
    ran = ledger.run("build", "1", *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


def test_a_state_is_recorded_on_demand_and_read_without_a_writer(ledger: Commands) -> None:
    assert "--fresh records one" in ledger.run("state").err
    made = json.loads(ledger.run("state", "--fresh", "--json").out)
    assert (ledger.folder / "state.json").read_text() == ledger.run("state", "--json").out
    assert {row["chain"]: row["size"] for row in made["chains"]}["keys"] == 2
    assert "state 1, recorded" in ledger.run("state").out


def test_while_a_writer_runs_commands_reach_it_by_its_address(ledger: Commands, address: str) -> None:
    busy = ledger.run("state", "--fresh")
    assert busy.status == 2
    assert "belong to a running writer" in busy.err
    assert "--connect" in busy.err
    assert ledger.run("state", "--fresh", "--connect", address).status == 0
    refused = ledger.run("rotate", "entry", "--reason", "x", "--previous-key", "AAAA", "--connect", address)
    assert refused.status == 1
    assert len(refused.err.splitlines()) == 1


def test_a_watched_chain_shows_entries_and_checkpoints_as_they_come(ledger: Commands, address: str) -> None:
    command = [sys.executable, "-m", "receipt_writer", "watch", address, "--chain", "calls", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        for number in (1, 2):
            draft = ledger.home / "draft.json"
            draft.write_text(json.dumps(call(number)))
            ledger.run("record", "calls", str(draft), "--connect", address)
            assert json.loads(watching.stdout.readline())["entry"]["callId"] == ulid("c_", number)
        watching.terminate()


def test_a_writer_that_is_not_there_is_told_in_one_sentence(ledger: Commands) -> None:
    ran = ledger.run("state", "--connect", f"unix:{ledger.home}/none.sock")
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rotate", "door", "--reason", "x"], "'door' is no use of a key"),
        (["revoke", "entry", "AAAA", "--reason", "x", "--at", "turns"], "--at 'turns' is no CHAIN=ID"),
        (["record", "cats"], "There is no chain cats here"),
    ],
)
def test_wrong_words_are_told_before_a_writer_starts(ledger: Commands, words: list[str], said: str) -> None:
    ran = ledger.run(*words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1.5}', '{"id": 1}', '{"a": 1, "a": 2}'])
def test_a_draft_that_is_none_is_refused_and_nothing_is_recorded(ledger: Commands, content: str) -> None:
    draft = ledger.home / "draft.json"
    draft.write_text(content)
    ran = ledger.run("record", "decisions", str(draft))
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert (ledger.folder / "chains" / "decisions.jsonl").read_bytes() == b""


def test_the_chains_that_only_the_writer_writes_refuse_a_record(ledger: Commands) -> None:
    draft = ledger.home / "draft.json"
    draft.write_text(json.dumps(decision(1)))
    ran = ledger.run("record", "keys", str(draft))
    assert (ran.status, ran.out) == (1, "")
    assert "writer" in ran.err


def test_a_token_is_shown_once_listed_by_its_hash_and_taken_away(ledger: Commands) -> None:
    token = ledger.run("token", "add", "acme").out.strip()
    listed = json.loads(ledger.run("token", "list", "--json").out)
    assert [(one["tenant"], one["hash"]) for one in listed] == [("acme", hashlib.sha256(token.encode()).hexdigest())]
    assert token not in (ledger.folder / "tokens.json").read_text()
    assert "removed" in ledger.run("token", "remove", token).out
    assert json.loads(ledger.run("token", "list", "--json").out) == []
    assert ledger.run("token", "remove", token).status == 1
    refused = ledger.run("token", "add", "../up")
    assert (refused.status, len(refused.err.splitlines())) == (2, 1)


def test_the_keys_of_a_locked_ledger_are_rotated_with_its_passphrase_file(commands: Commands) -> None:
    (commands.home / "secret").touch(0o600)
    (commands.home / "secret").write_text("four words of your own")
    locked = ("--passphrase-file", str(commands.home / "secret"))
    assert commands.run("keygen", *locked).status == 0
    refused = commands.run("rotate", "entry", "--reason", "spring")
    assert (refused.status, refused.out) == (2, "")
    assert "passphrase" in refused.err
    rotated = json.loads(commands.run("rotate", "entry", "--reason", "spring", *locked, "--json").out)
    assert (rotated["event"], rotated["id"]) == ("rotated", 3)


def test_the_keys_of_a_tenant_are_changed_by_the_homes_owner_and_by_its_token(ledger: Commands, address: str) -> None:
    token = ledger.home / "token"
    token.write_text(ledger.run("token", "add", "acme").out)
    by_token = ("--connect", address, "--token-file", str(token))
    unknown = ledger.run("rotate", "entry", "--reason", "x", "--tenant", "acme", "--connect", address)
    assert (unknown.status, "There is no ledger" in unknown.err) == (2, True)  # its first call makes it
    assert ledger.run("state", "--fresh", *by_token).status == 0
    first = ledger.run("rotate", "entry", "--reason", "x", "--tenant", "acme", "--connect", address, "--json")
    second = ledger.run("rotate", "entry", "--reason", "y", *by_token, "--json")
    assert json.loads(second.out)["previousKey"] == json.loads(first.out)["publicKey"]
    events = {name: ledger.run("list", "--chain", "keys", "--json", *words).out for name, words in PARTIES.items()}
    assert [events[name].count('"rotated"') for name in ("own", "acme")] == [0, 2]
    listed = json.loads(ledger.run("token", "list", "--json").out)
    assert [one["tenant"] for one in listed] == ["acme"]  # the owner's own token was one of the moment


PARTIES: dict[str, tuple[str, ...]] = {"own": (), "acme": ("--tenant", "acme")}


@pytest.mark.parametrize("command", [("list",), ("state",), ("rotate", "entry", "--reason", "x")])
def test_a_tenant_whose_name_leads_elsewhere_is_refused(ledger: Commands, command: tuple[str, ...]) -> None:
    ran = ledger.run(*command, "--tenant", "../../receipts")
    assert (ran.status, ran.out) == (2, "")
    assert "A tenant cannot be called '../../receipts'" in ran.err


def test_a_token_file_that_holds_none_is_told_before_any_call(ledger: Commands) -> None:
    (ledger.home / "token").write_text("\n")
    ran = ledger.run("state", "--connect", "127.0.0.1:1", "--token-file", str(ledger.home / "token"))
    assert (ran.status, "holds no token" in ran.err) == (2, True)


def test_health_and_changes_of_tokens_have_a_form_for_programs(ledger: Commands, address: str) -> None:
    assert json.loads(ledger.run("health", address, "--json").out) == {"address": address, "serving": True}
    nobody = ledger.run("health", f"unix:{ledger.home}/none.sock", "--json")
    assert (nobody.status, json.loads(nobody.out)["serving"]) == (1, False)
    added = json.loads(ledger.run("token", "add", "acme", "--json").out)
    assert added["tenant"] == "acme"
    (gone,) = json.loads(ledger.run("token", "remove", added["token"], "--json").out)
    assert gone["hash"] == hashlib.sha256(added["token"].encode()).hexdigest()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_draft_that_is_awaited_from_a_terminal_is_asked_for(
    ledger: Commands, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"[]"))
    monkeypatch.setattr(typed, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdin", typed)
    ran = ledger.run("record", "calls")
    assert ("then Ctrl-D" in ran.err) == is_terminal
    assert "is no JSON object" in ran.err
