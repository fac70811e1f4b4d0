from __future__ import annotations

from pathlib import Path

import pytest

from receipt_writer.credentials import bearer_token, read_certificate
from receipt_writer.errors import CredentialRefusedError, ListenError
from tests.receipt_writer.certificates import make_certificate


@pytest.mark.parametrize(
    ("metadata", "token"),
    [
        (None, None),
        ((), None),
        ((("user-agent", "grpc"),), None),
        ((("authorization", "Bearer abc"),), "abc"),
        ((("authorization", "bearer abc"), ("x", "Bearer other")), "abc"),
    ],
)
def test_a_token_is_taken_from_the_authorization_alone(
    metadata: tuple[tuple[str, str], ...] | None, token: str | None
) -> None:
    assert bearer_token(metadata) == token


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer é", "Bearer \x01", b"Bearer a"]
)
def test_an_authorization_of_another_form_is_refused(value: str | bytes) -> None:
    with pytest.raises(CredentialRefusedError, match="Bearer TOKEN"):
        bearer_token((("authorization", value),))


def test_two_authorizations_are_refused() -> None:
    with pytest.raises(CredentialRefusedError):
        bearer_token((("authorization", "Bearer a"), ("authorization", "Bearer a")))


def test_a_certificate_and_its_key_are_read(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    chain, key = read_certificate(files.certificate, files.key)
    assert (chain, key) == (files.certificate.read_bytes(), files.key.read_bytes())


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    first, second = make_certificate(tmp_path), make_certificate(tmp_path, "other")
    with pytest.raises(ListenError, match="its own unencrypted key"):
        read_certificate(first.certificate, second.key)


def test_an_encrypted_key_is_refused(tmp_path: Path) -> None:
    files = make_certificate(tmp_path, password=b"secret")
    with pytest.raises(ListenError, match="unencrypted"):
        read_certificate(files.certificate, files.key)


def test_files_that_are_no_pem_are_refused(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    files.certificate.write_text("hello")
    with pytest.raises(ListenError, match="both PEM"):
        read_certificate(files.certificate, files.key)


def test_a_file_that_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    with pytest.raises(ListenError, match="no such file or directory"):
        read_certificate(files.certificate, tmp_path / "none.key")
