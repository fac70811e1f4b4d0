from __future__ import annotations

import errno
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from receipt_writer import tokens as tokens_module
from receipt_writer.errors import RequestRefusedError
from receipt_writer.format.digest import sha256_hex
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.tokens import Tokens, add_token, read_tokens, require_tenant_id, revoke_tokens
from service_runtime.errors import SetupError
from tests.receipt_writer.format.material import START_MS
from tests.receipt_writer.parts import WatchedFiles

FILES = OsFileSystem()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def add(path: Path, tenant_id: str) -> str:
    return add_token(FILES, path, tenant_id, START_MS)


def test_commands_that_add_tokens_at_the_same_time_lose_none(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        tokens = list(threads.map(lambda number: add(path, f"tenant-{number}"), range(40)))
    assert [Tokens(path).tenant_of(token) for token in tokens] == [f"tenant-{number}" for number in range(40)]


def test_tokens_are_taken_away_and_added_at_the_same_time_and_each_change_counts(path: Path) -> None:
    leaving = [add(path, f"leaving-{number}") for number in range(10)]
    with ThreadPoolExecutor(8) as threads:
        gone = [threads.submit(revoke_tokens, FILES, path, token) for token in leaving]
        added = [threads.submit(add, path, f"coming-{number}") for number in range(10)]
    assert [len(one.result()) for one in gone] == [1] * 10
    assert {row.tenant_id for row in read_tokens(FILES, path)} == {f"coming-{number}" for number in range(10)}
    assert len(added) == 10


def test_a_command_that_never_gets_its_turn_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "_PATIENCE_S", 0)
    handle = FILES.open(path.with_name(".tokens.json.lock"))
    assert FILES.lock(handle)
    with pytest.raises(SetupError, match="Another command is changing"):
        add(path, "acme")
    FILES.close(handle)
    add(path, "acme")


def test_a_token_leads_to_its_tenant_and_no_other_text_does(path: Path) -> None:
    first, second = add(path, "acme"), add(path, "globex")
    tokens = Tokens(path)
    assert [tokens.tenant_of(token) for token in (first, second)] == ["acme", "globex"]
    for other in ("", first[:-1], first + "x", first.upper(), sha256_hex(first.encode()), "acme"):
        assert tokens.tenant_of(other) is None


def test_two_tokens_of_one_tenant_both_count(path: Path) -> None:
    both = [add(path, "acme"), add(path, "acme")]
    assert len(set(both)) == 2
    assert [Tokens(path).tenant_of(token) for token in both] == ["acme", "acme"]


def test_the_file_is_private_and_holds_hashes_only(path: Path) -> None:
    token = add(path, "acme")
    assert path.stat().st_mode & 0o777 == 0o600
    (row,) = json.loads(path.read_bytes())["tokens"]
    assert row == {
        "tokenHash": sha256_hex(token.encode()),
        "tenantId": "acme",
        "addedAtIso": "2025-12-01T16:38:45.386Z",
    }
    assert token not in path.read_text()
    assert len(token) > 40


def test_without_a_file_no_token_counts(path: Path) -> None:
    assert Tokens(path).tenant_of("prt_x") is None
    assert read_tokens(FILES, path) == []


def test_a_token_counts_and_stops_counting_while_the_writer_runs(path: Path) -> None:
    tokens = Tokens(path)
    assert tokens.tenant_of("x") is None
    token, other = add(path, "acme"), add(path, "globex")
    assert tokens.tenant_of(token) == "acme"
    assert [row.tenant_id for row in revoke_tokens(FILES, path, token)] == ["acme"]
    assert [tokens.tenant_of(token), tokens.tenant_of(other)] == [None, "globex"]
    path.unlink()
    assert tokens.tenant_of(other) is None


@pytest.mark.parametrize("way", ["token", "hash", "tenant"])
def test_a_token_is_revoked_by_itself_by_its_hash_or_with_its_tenant(path: Path, way: str) -> None:
    token, stays = add(path, "acme"), add(path, "globex")
    wanted = {"token": token, "hash": sha256_hex(token.encode())[:12], "tenant": "acme"}[way]
    assert len(revoke_tokens(FILES, path, wanted)) == 1
    assert [row.token_hash for row in read_tokens(FILES, path)] == [sha256_hex(stays.encode())]


def test_a_tenant_loses_all_its_tokens_at_once(path: Path) -> None:
    for tenant_id in ("acme", "globex", "acme"):
        add(path, tenant_id)
    assert len(revoke_tokens(FILES, path, "acme")) == 2
    assert [row.tenant_id for row in read_tokens(FILES, path)] == ["globex"]


@pytest.mark.parametrize("wanted", ["", "a", "nobody", "prt_unknown"])
def test_revoking_what_is_not_there_changes_nothing(path: Path, wanted: str) -> None:
    add(path, "acme")
    before = path.read_bytes()
    assert revoke_tokens(FILES, path, wanted) == []
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"tokens":1}',
        b'{"tokens":[{}]}',
        b'{"tokens":[{"tokenHash":"a","tenantId":"../up","addedAtIso":""}]}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_broken_file_lets_nobody_in_and_is_not_written_over(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    token = add(path, "acme")
    tokens = Tokens(path)
    assert tokens.tenant_of(token) == "acme"
    path.write_bytes(content)
    for _ in range(2):
        assert tokens.tenant_of(token) is None
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    with pytest.raises(SetupError, match="is broken; put it back"):
        add(path, "acme")
    assert path.read_bytes() == content


def test_a_file_that_others_can_read_lets_nobody_in_until_it_is_private_again(path: Path) -> None:
    token = add(path, "acme")
    tokens = Tokens(path)
    path.chmod(0o640)
    assert tokens.tenant_of(token) is None
    with pytest.raises(SetupError, match=r"mode 0640.*chmod 600"):
        read_tokens(FILES, path)
    path.chmod(0o600)
    assert tokens.tenant_of(token) == "acme"


def test_a_disk_that_refuses_leaves_the_tokens_as_they_were(path: Path) -> None:
    token = add(path, "acme")
    files = WatchedFiles(fails=("replace", "tokens.json"), error=errno.ENOSPC)
    with pytest.raises(SetupError, match="cannot be written: no space left on device"):
        add_token(files, path, "globex", START_MS)
    assert Tokens(path).tenant_of(token) == "acme"


@pytest.mark.parametrize("tenant_id", ["acme", "a", "7", "north.example-2", "x" * 100])
def test_a_tenant_can_be_called_what_can_stand_in_an_origin(tenant_id: str) -> None:
    require_tenant_id(tenant_id, "home-0123456789ab")


@pytest.mark.parametrize("tenant_id", ["", "-", ".", "..", "../up", "a/b", "Acme", "é", "a b", "-a", ".a", "x" * 192])
def test_a_tenant_cannot_be_called_what_names_no_origin_or_no_harmless_folder(tenant_id: str) -> None:
    with pytest.raises(RequestRefusedError, match="cannot be called"):
        require_tenant_id(tenant_id, "home-0123456789ab")
