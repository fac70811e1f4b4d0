"""A ledger's name, keys and policies in its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from receipt_writer.errors import KeyFileError
from receipt_writer.format.policy import TrustedKey, parse_policy
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import (
    Identity,
    LedgerName,
    create_identity,
    load_identity,
    policy_path,
    read_name,
    require_no_keys,
    require_no_lost_key,
    restore_policies,
)
from receipt_writer.signers.file import Passphrase
from receipt_writer.signers.sealing import Limits
from receipt_writer.signers.source import KEY_NAMES, KeySource
from receipt_writer.storage.filesystem import OsFileSystem
from receipt_writer.trust import Trust
from service_runtime.errors import SetupError

FILES = OsFileSystem()
PLAIN = KeySource()
LOCKED = KeySource(Passphrase(b"correct horse", Limits(1, 8192)))
SEEDED = KeySource(seeds={"entry": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="})


def made(folder: Path, source: KeySource = PLAIN, name: LedgerName | None = None) -> Identity:
    create_identity(FILES, folder, source, name)
    return load_identity(FILES, folder, source)


@pytest.mark.parametrize("name", [LedgerName("berlin-1"), LedgerName("berlin-1", "acme")])
def test_a_ledger_keeps_the_name_it_was_given(tmp_path: Path, name: LedgerName) -> None:
    assert made(tmp_path, name=name).name == read_name(FILES, tmp_path) == name
    assert name.origin("turns") == f"berlin-1/turns/{name.tenant_id or '-'}"
    made(tmp_path, name=name)
    with pytest.raises(SetupError, match=r"This ledger is called berlin-1.* for good"):
        create_identity(FILES, tmp_path, PLAIN, LedgerName("berlin-1", "umbrella"))


def test_a_new_ledger_takes_a_name_of_its_own(tmp_path: Path) -> None:
    assert made(tmp_path).substrate_id.startswith("home-")
    assert json.loads((tmp_path / "ledger.json").read_bytes()) == {"substrateId": made(tmp_path).substrate_id}


@pytest.mark.parametrize(
    "content", [b'{"substrateId":"a","tenantId":"-"}', b'{"substrateId":"a","tenantId":7}', b'"a"']
)
def test_a_name_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ledger.json").write_bytes(content)
    (tmp_path / "chains").mkdir()
    with pytest.raises(SetupError, match=r"ledger\.json does not name the ledger"):
        read_name(FILES, tmp_path)


def test_two_ledgers_have_four_keys(tmp_path: Path) -> None:
    keys = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        keys |= {key.public_key for key in made(tmp_path / name).own_keys}
    assert len(keys) == 4


@pytest.mark.parametrize("source", [PLAIN, LOCKED, SEEDED], ids=["plain", "locked", "seeded"])
def test_keys_come_back_from_where_they_are_kept(tmp_path: Path, source: KeySource) -> None:
    first = made(tmp_path, source)
    again = load_identity(FILES, tmp_path, source)
    assert again.own_keys == first.own_keys
    assert [key.use for key in again.own_keys] == ["entry", "checkpoint"]
    assert (tmp_path / "entry.key").exists() == (source is not SEEDED)
    require_no_lost_key(FILES, tmp_path, source)
    with pytest.raises(KeyFileError, match="has keys already"):
        require_no_keys(FILES, tmp_path, source)


def test_seeds_of_the_environment_do_not_stand_in_the_way_of_a_first_start(tmp_path: Path) -> None:
    require_no_keys(FILES, tmp_path, KeySource(seeds={"entry": "", "checkpoint": ""}))


@pytest.mark.parametrize("use", ["entry", "checkpoint"])
def test_a_lost_key_is_named(tmp_path: Path, use: str) -> None:
    made(tmp_path)
    path = tmp_path / KEY_NAMES["entry" if use == "entry" else "checkpoint"]
    path.unlink()
    with pytest.raises(KeyFileError, match=rf"{use}\.key is missing, but its ledger has entries"):
        require_no_lost_key(FILES, tmp_path, PLAIN)


def test_every_chain_gets_a_policy_of_the_keys_that_the_ledger_began_with(tmp_path: Path) -> None:
    """RF-18, RF-29."""
    identity = made(tmp_path, name=LedgerName("berlin-1", "acme"))
    restore_policies(FILES, tmp_path, identity.name, identity.own_keys)
    for layer in LAYERS.values():
        policy = parse_policy(policy_path(tmp_path, layer.chain).read_bytes())
        assert (policy.origin, policy.keys) == (f"berlin-1/{layer.chain}/acme", identity.own_keys)


def test_the_key_log_says_which_of_the_keys_at_hand_signs(tmp_path: Path) -> None:
    """RF-28."""
    identity = made(tmp_path)
    following = identity.custody["entry"].prepare_next()
    identity = load_identity(FILES, tmp_path, PLAIN)
    assert identity.in_force(Trust(identity.own_keys), "entry").public_key == identity.entry_signer.public_key
    after = Trust((TrustedKey(following.public_key, "entry"), identity.own_keys[1]))
    assert identity.in_force(after, "entry").public_key == following.public_key
    with pytest.raises(KeyFileError, match="which by the key log is none any more"):
        identity.in_force(Trust(identity.own_keys[:1]), "checkpoint")
