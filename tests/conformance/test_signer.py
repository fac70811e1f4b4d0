"""What every `Signer` keeps to, wherever its key is: the contract of `receipt_writer.format.signing.Signer`."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from nacl.signing import SigningKey

from receipt_writer.format.chain import check_link, genesis_head, next_entry
from receipt_writer.format.checkpoint import Checkpoint, sign_checkpoint, verify_note
from receipt_writer.format.policy import TrustedKey
from receipt_writer.format.signing import Signer, precheck_key, precheck_signature, verify
from receipt_writer.signers.file import Passphrase
from receipt_writer.signers.local import LocalSigner
from receipt_writer.signers.sealing import Limits
from receipt_writer.signers.source import KeySource
from receipt_writer.storage.filesystem import OsFileSystem
from tests.fakes.remote_signer import remote_signer
from tests.receipt_writer.format.material import ORIGIN, START_MS, decision_draft

SEED = bytes(range(32))
CHEAP = Limits(1, 8192)


def _in_file(source: KeySource) -> Callable[[Path], AbstractContextManager[Signer]]:
    def opened(folder: Path) -> AbstractContextManager[Signer]:
        source.custody(OsFileSystem(), folder, "entry").create()
        return nullcontext(source.custody(OsFileSystem(), folder, "entry").load())

    return opened


def _in_environment(folder: Path) -> AbstractContextManager[Signer]:
    seeds = KeySource(seeds={"entry": base64.b64encode(SEED).decode()})
    return nullcontext(seeds.custody(OsFileSystem(), folder, "entry").load())


def _remote(_folder: Path) -> AbstractContextManager[Signer]:
    return remote_signer(SEED)


KINDS: dict[str, Callable[[Path], AbstractContextManager[Signer]]] = {
    "file": _in_file(KeySource()),
    "locked file": _in_file(KeySource(Passphrase(b"correct horse", CHEAP))),
    "environment": _in_environment,
    "remote": _remote,
}


@pytest.fixture(params=KINDS)
def signer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Signer]:
    """One of every kind."""
    with KINDS[request.param](tmp_path) as opened:
        yield opened


def test_a_signature_holds_for_its_message_only(signer: Signer) -> None:
    for message in (b"", b"message", b"\0" * 70_000):
        signature = signer.sign(message)
        assert verify(signer.public_key, message, signature)
        assert not verify(signer.public_key, message + b".", signature)


def test_keys_and_signatures_pass_the_byte_checks(signer: Signer) -> None:
    precheck_key(signer.public_key)
    precheck_signature(signer.sign(b"message"))


def test_the_same_message_has_the_same_signature(signer: Signer) -> None:
    """RFC 8032: no randomness that could leak the key."""
    assert signer.sign(b"message") == signer.sign(b"message")
    assert signer.public_key == signer.public_key


def test_it_signs_entries_and_checkpoints(signer: Signer) -> None:
    head = genesis_head(ORIGIN)
    entry, _ = next_entry(head, "L12", "v2", decision_draft(), now_ms=START_MS, tenant_id=None, signer=signer)
    check_link(head, entry, keys=[TrustedKey(signer.public_key, "entry")])
    checkpoint = Checkpoint(ORIGIN, 1, b"\1" * 32)
    assert verify_note(sign_checkpoint(checkpoint, signer), ORIGIN, [signer.public_key]) == checkpoint


def test_signers_of_one_seed_are_the_same_signer() -> None:
    expected = bytes(SigningKey(SEED).verify_key)
    local = LocalSigner.from_seed(SEED)
    with _remote(Path()) as remote, _in_environment(Path()) as environment:
        assert {one.public_key for one in (remote, environment, local)} == {expected}
        assert len({one.sign(b"message") for one in (remote, environment, local)}) == 1
