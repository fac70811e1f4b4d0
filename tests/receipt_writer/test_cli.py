from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from receipt_writer.app import open_service
from receipt_writer.format.checkpoint import verify_note
from receipt_writer.format.entry import Entry
from receipt_writer.format.merkle import leaf_hash, verify_inclusion
from receipt_writer.format.schema import LAYERS, Layer
from receipt_writer.identity import chains_folder
from receipt_writer.ledger import Append, Begin
from tests.receipt_writer.commands import Commands
from tests.receipt_writer.parts import chain_file, decision, intent, policy_keys, turn, ulid, verified


@pytest.fixture
def filled(commands: Commands) -> Commands:
    """Three turns and five decisions; the checkpoints cover all but the last of each."""
    (commands.home / "receipts").mkdir(mode=0o700)
    service = open_service(commands.folder)
    for number in (1, 2, 3):
        service.writer.commit_now([Begin(intent(number)), Append("L10", turn(number))])
    for number in (1, 2, 3, 4, 5):
        service.writer.commit_now([Append("L12", decision(number, specId=f"spec-{number % 2}"))])
    asyncio.run(service.checkpoints.write_all_new())
    service.writer.commit_now([Begin(intent(4)), Append("L10", turn(4)), Append("L12", decision(6))])
    service.store.close()
    return commands


def test_help_names_every_command(commands: Commands) -> None:
    ran = commands.run("--help")
    assert ran.status == 0
    for name in ("serve", "keygen", "policy", "list", "show", "prove", "checkpoint", "head", "export", "fsck"):
        assert name in ran.out


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["serve", "--help"], ["list", "--help"]])
def test_help_and_version_import_no_grpc_and_no_rich(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys, atexit\n"
        "heavy = {'grpc', 'google.protobuf', 'rich'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        f"sys.argv = ['receipt-writer', *{words!r}]\n"
        "from receipt_writer.__main__ import main\n"
        "sys.exit(main())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stderr == "[]\n"


def test_version_is_the_distributions(commands: Commands) -> None:
    assert commands.run("--version").out.startswith("receipt-writer 0.")


@pytest.mark.parametrize("words", [["list", "--bogus"], ["show"], ["nonsense"], ["list", "--chain", "cats"], ["serve"]])
def test_wrong_use_is_status_2(commands: Commands, words: list[str]) -> None:
    ran = commands.run(*words)
    assert (ran.status, ran.out) == (2, "")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", ["list", "head", "checkpoint", "fsck", "policy"])
def test_a_home_without_a_ledger_is_told_and_stays_untouched(commands: Commands, command: str) -> None:
    ran = commands.run(command)
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert list(commands.home.iterdir()) == []


def test_a_file_in_place_of_the_home_is_told_in_one_sentence(commands: Commands) -> None:
    for words in (["list"], ["fsck"], ["policy"], ["keygen"], ["serve", "--listen", "127.0.0.1:0"]):
        ran = commands.run(*words, "--home", "/dev/null")
        assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)


def test_a_disk_that_refuses_is_told_in_one_sentence(commands: Commands) -> None:
    (commands.home / "receipts" / "ledger.json").mkdir(parents=True)
    ran = commands.run("list")
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert "cannot be used: Is a directory" in ran.err


def test_keygen_makes_keys_that_the_writer_uses(commands: Commands) -> None:
    made = json.loads(commands.run("keygen", "--substrate-id", "berlin", "--json").out)
    assert made["substrateId"] == "berlin"
    origin, keys = policy_keys(commands.folder)
    assert (origin, len(keys)) == ("berlin/decisions/-", 2)
    assert made["entryKey"] != made["checkpointKey"]
    open_service(commands.folder).store.close()


def test_keygen_never_replaces_keys(commands: Commands) -> None:
    commands.run("keygen")
    before = (commands.folder / "entry.key").read_bytes()
    ran = commands.run("keygen")
    assert ran.status == 2
    assert "has keys already" in ran.err
    assert (commands.folder / "entry.key").read_bytes() == before


def test_list_shows_the_newest_first(filled: Commands) -> None:
    ran = filled.run("list", "-n", "2")
    rows = [line.split() for line in ran.out.splitlines() if ulid("t_", 0)[:8] in line]
    assert [(row[0], row[2]) for row in rows] == [("4", ulid("t_", 4)), ("3", ulid("t_", 3))]


def test_list_filters_and_prints_json(filled: Commands) -> None:
    ran = filled.run("list", "--chain", "decisions", "--spec", "spec-1", "--json")
    assert [entry["id"] for entry in json.loads(ran.out)] == [5, 3, 1]
    assert [entry["id"] for entry in json.loads(filled.run("list", "--turn", ulid("t_", 2), "--json").out)] == [2]


def test_a_filter_that_does_not_fit_the_chain_is_wrong_use(filled: Commands) -> None:
    ran = filled.run("list", "--chain", "decisions", "--session", "s_1")
    assert ran.status == 2
    assert "cannot be filtered by sessionId" in ran.err


def test_list_filters_by_time(filled: Commands) -> None:
    times = [entry["recordedAtIso"] for entry in json.loads(filled.run("list", "--json").out)]
    assert json.loads(filled.run("list", "--since", times[0], "--json").out)[0]["id"] == 4
    assert json.loads(filled.run("list", "--until", "2020-01-01", "--json").out) == []


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01", "12"])
def test_a_time_that_is_none_is_wrong_use(filled: Commands, moment: str) -> None:
    ran = filled.run("list", "--since", moment)
    assert (ran.status, ran.out) == (2, "")
    assert f"--since {moment!r} is no date or time" in ran.err


@pytest.mark.parametrize("layer", LAYERS.values(), ids=lambda layer: layer.chain)
def test_every_chain_can_be_listed(filled: Commands, layer: Layer) -> None:
    ran = filled.run("list", "--chain", layer.chain)
    assert ran.status == 0
    assert ran.out.split()[:2] == ["id", "recorded"]


def test_show_writes_one_page_to_send(filled: Commands) -> None:
    page = filled.home / "receipt.html"
    ran = filled.run("show", "2", "--html", str(page))
    assert (ran.status, ran.out) == (0, "")
    text = page.read_text()
    assert ulid("t_", 2) in text
    assert filled.run("show", "2", "--html", "-").out == text
    assert filled.run("prove", "2").out.splitlines()[-1] in text


def test_a_page_of_an_entry_that_no_checkpoint_covers_says_so(filled: Commands) -> None:
    text = filled.run("show", "4", "--html", "-").out
    assert "No checkpoint covers this entry yet" in text
    assert "tlog-proof" not in text


def test_export_copies_what_a_verifier_needs_and_no_key(filled: Commands) -> None:
    target = filled.home / "copy"
    ran = filled.run("export", str(target), "--json")
    assert ran.status == 0
    copied = {one["chain"]: one["bytes"] for one in json.loads(ran.out)}
    assert (target / "turns.jsonl").read_bytes() == chain_file(filled.folder, "L10").read_bytes()
    assert copied["turns"] == (target / "turns.jsonl").stat().st_size
    assert {"turns.checkpoint", "policy-turns.json", "keys.jsonl", "README.txt"} <= {
        one.name for one in target.iterdir()
    }
    assert not list(target.glob("*.key"))


def test_export_leaves_out_what_a_writer_is_just_writing(filled: Commands) -> None:
    whole = chain_file(filled.folder, "L10").read_bytes()
    chain_file(filled.folder, "L10").write_bytes(whole + b'{"id":')
    filled.run("export", str(filled.home / "copy"))
    assert (filled.home / "copy" / "turns.jsonl").read_bytes() == whole


def test_export_never_writes_into_a_folder_with_something_in_it(filled: Commands) -> None:
    (filled.home / "copy").mkdir()
    (filled.home / "copy" / "mine").touch()
    ran = filled.run("export", str(filled.home / "copy"))
    assert (ran.status, len(ran.err.splitlines())) == (2, 1)
    assert [one.name for one in (filled.home / "copy").iterdir()] == ["mine"]


def test_show_prints_the_stored_line_byte_for_byte(filled: Commands) -> None:
    for name in ("2", ulid("t_", 2)):
        assert filled.run("show", name, "--json").out.encode() == verified(filled.folder, "L10")[1].line + b"\n"


def test_show_prints_a_member_a_line(filled: Commands) -> None:
    ran = filled.run("show", "1", "--chain", "decisions")
    assert "specId               spec-1\n" in ran.out


@pytest.mark.parametrize("name", ["0", "99", "t_1", "-1", "9" * 40])
def test_an_entry_that_is_not_there_is_told(filled: Commands, name: str) -> None:
    ran = filled.run("show", "--", name)
    assert (ran.status, ran.out) == (1, "")
    assert "has no entry" in ran.err


def test_terminal_control_characters_are_shown_and_not_sent(commands: Commands) -> None:
    (commands.home / "receipts").mkdir(mode=0o700)
    service = open_service(commands.folder)
    service.writer.commit_now([Append("L12", decision(1, productId="\x1b[2Jevil"))])
    service.store.close()
    assert "\x1b" not in commands.run("show", "1", "--chain", "decisions").out


def test_prove_prints_a_tlog_proof_that_holds(filled: Commands) -> None:
    """RF-32."""
    text = filled.run("prove", "2", "--chain", "decisions").out
    top, _, note = text.partition("\n\n")
    title, extra, index, *hashes = top.split("\n")
    assert (title, index) == ("c2sp.org/tlog-proof@v1", "index 1")
    line = base64.b64decode(extra.removeprefix("extra "))
    assert line == verified(filled.folder)[1].line
    origin, keys = policy_keys(filled.folder)
    tree = verify_note(note, origin, [key.public_key for key in keys if key.use == "checkpoint"])
    path = [base64.b64decode(one) for one in hashes]
    assert verify_inclusion(leaf_hash(line), 1, tree.size, path, tree.root_hash)


def test_prove_prints_the_same_as_json(filled: Commands) -> None:
    proof = json.loads(filled.run("prove", "2", "--chain", "decisions", "--json").out)
    assert (proof["id"], proof["size"], len(proof["path"])) == (2, 5, 3)
    assert proof["leafHash"] == leaf_hash(proof["line"].encode()).hex()


def test_an_entry_newer_than_the_checkpoint_cannot_be_proved_yet(filled: Commands) -> None:
    ran = filled.run("prove", "6", "--chain", "decisions")
    assert ran.status == 1
    assert "newer than the newest checkpoint (size 5)" in ran.err


def test_checkpoint_prints_the_note(filled: Commands) -> None:
    note = (chains_folder(filled.folder) / "turns.checkpoint").read_text()
    assert filled.run("checkpoint").out == note
    assert json.loads(filled.run("checkpoint", "--json").out) == {"size": 3, "entries": 4, "note": note}


@pytest.mark.parametrize("content", [b"junk", b"\xff\xfe"])
def test_a_checkpoint_that_cannot_be_read_is_told(filled: Commands, content: bytes) -> None:
    (chains_folder(filled.folder) / "turns.checkpoint").write_bytes(content)
    ran = filled.run("checkpoint")
    assert ran.status == 1
    assert "The checkpoint of the chain turns cannot be read" in ran.err


def test_a_chain_without_a_checkpoint_is_told(commands: Commands) -> None:
    (commands.home / "receipts").mkdir(mode=0o700)
    open_service(commands.folder).store.close()
    ran = commands.run("checkpoint")
    assert ran.status == 1
    assert "no checkpoint yet" in ran.err


def test_head_tells_how_far_every_chain_reaches(filled: Commands) -> None:
    newest: list[Entry] = [verified(filled.folder, layer)[-1] for layer in ("L10", "L12")]
    heads = json.loads(filled.run("head", "--json").out)
    sizes = {head["origin"].split("/")[1]: (head["size"], head["hash"]) for head in heads}
    assert [sizes[chain] for chain in ("turns", "decisions")] == [(entry.id, entry.hash) for entry in newest]
    assert sizes["calls"][0] == 0
    assert len(filled.run("head").out.splitlines()) == len(LAYERS)


def test_policy_prints_the_policy_file(filled: Commands) -> None:
    assert filled.run("policy").out.encode() == (filled.folder / "policy-turns.json").read_bytes()


def test_fsck_finds_a_good_ledger_good(filled: Commands) -> None:
    ran = filled.run("fsck", "--json")
    assert ran.status == 0
    findings = {one["chain"]: one for one in json.loads(ran.out)}
    assert list(findings) == [layer.chain for layer in LAYERS.values()]
    assert all(one["good"] for one in findings.values())
    assert (findings["turns"]["entries"], findings["decisions"]["entries"]) == (4, 6)


def test_fsck_names_the_first_bad_entry(filled: Commands) -> None:
    path = chain_file(filled.folder)
    before, after = path.read_bytes().split(b'"id":3,', 1)
    path.write_bytes(before + b'"id":3,' + after.replace(b"spec-1", b"spec-7", 1))
    ran = filled.run("fsck")
    assert ran.status == 1
    assert "decisions: DAMAGED" in ran.out
    assert "Entry 3 of the chain decisions is not what was recorded" in ran.out


def test_fsck_tells_a_torn_tail_and_leaves_it(filled: Commands) -> None:
    path = chain_file(filled.folder)
    torn = path.read_bytes() + b'{"id":'
    path.write_bytes(torn)
    ran = filled.run("fsck")
    assert ran.status == 0
    assert "6 bytes of an unfinished write" in ran.out
    assert path.read_bytes() == torn


def test_fsck_finds_chains_that_are_older_than_the_checkpoint_beside_them(filled: Commands) -> None:
    chains = chains_folder(filled.folder)
    for name in ("head.json", "decisions.checkpoint"):
        (chains / name).unlink()
    chain_file(filled.folder).write_bytes(chain_file(filled.folder).read_bytes().splitlines(keepends=True)[0])
    ran = filled.run("fsck")
    assert ran.status == 1
    assert "kept beside the chains was signed over 5 entries" in ran.out


def test_fsck_tells_that_the_policy_trusts_no_key_for_entries(filled: Commands) -> None:
    path = filled.folder / "policy-decisions.json"
    policy = json.loads(path.read_text())
    path.write_text(json.dumps(policy | {"keys": [key for key in policy["keys"] if key["use"] == "checkpoint"]}))
    ran = filled.run("fsck")
    assert ran.status == 1
    assert "decisions: DAMAGED" in ran.out
    assert "trusts no key to sign entries" in ran.out


def test_fsck_finds_entries_that_were_cut_off(filled: Commands) -> None:
    path = chain_file(filled.folder)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    ran = filled.run("fsck")
    assert ran.status == 1
    assert "entry 6 was committed" in ran.out


def test_reading_goes_on_while_a_writer_owns_the_ledger(filled: Commands) -> None:
    service = open_service(filled.folder)
    try:
        for words in (["list"], ["show", "1"], ["prove", "1"], ["head"], ["fsck"], ["checkpoint"], ["policy"]):
            assert filled.run(*words).status == 0
        ran = filled.run("keygen")
        assert ran.status == 2
        assert "belong to a running writer" in ran.err
    finally:
        service.store.close()


def test_a_missing_package_is_told_with_its_remedy(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "receipt_writer.cli", raising=False)
    ran = commands.run("list")
    assert ran.status == 2
    assert "pip install 'prometheus-agent[writer]'" in ran.err
