from __future__ import annotations

import base64

import pytest

from receipt_writer.format.checkpoint import (
    Checkpoint,
    key_id,
    parse_note,
    sign_checkpoint,
    verify_note,
)
from receipt_writer.format.errors import CheckpointError
from receipt_writer.format.merkle import EMPTY_ROOT, leaf_hash, root_of
from tests.receipt_writer.format.material import (
    ORIGIN,
    SeedSigner,
    checkpoint_signer,
    entry_signer,
    vector,
    vector_lines,
)

SIGNER = SeedSigner(b"c" * 32)
STRANGER = SeedSigner(b"t" * 32)
CHECKPOINT = Checkpoint(ORIGIN, 40, bytes(range(32)))
NOTE = sign_checkpoint(CHECKPOINT, SIGNER)
TRUSTED = (SIGNER.public_key,)


def golden_checkpoint(size: int) -> Checkpoint:
    leaves = [leaf_hash(line) for line in vector_lines("golden.jsonl")]
    return Checkpoint(ORIGIN, size, root_of(leaves[:size]))


@pytest.mark.parametrize(("name", "size"), [("golden.checkpoint", 40), ("golden-prefix.checkpoint", 31)])
def test_the_checkpoints_of_the_vectors_are_made_byte_for_byte(name: str, size: int) -> None:
    """RF-17."""
    note = vector(name).decode()
    assert sign_checkpoint(golden_checkpoint(size), checkpoint_signer()) == note
    assert verify_note(note, ORIGIN, [checkpoint_signer().public_key]) == golden_checkpoint(size)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("other-log.checkpoint", "another chain"),
        ("forged.checkpoint", "not signed by a trusted"),
        ("entrykey.checkpoint", "not signed by a trusted"),
    ],
)
def test_a_checkpoint_of_another_log_or_key_is_no_evidence(name: str, words: str) -> None:
    """RF-17."""
    with pytest.raises(CheckpointError, match=words):
        verify_note(vector(name).decode(), ORIGIN, [checkpoint_signer().public_key])


def test_a_true_signature_over_a_wrong_root_is_the_callers_to_compare() -> None:
    signed = verify_note(vector("wrong-root.checkpoint").decode(), ORIGIN, [checkpoint_signer().public_key])
    assert signed.size == 40
    assert signed.root_hash != golden_checkpoint(40).root_hash


def test_a_key_id_names_name_type_and_key() -> None:
    """RF-17."""
    blob = base64.b64decode(vector("golden.checkpoint").decode().split()[-1])
    assert blob[:4] == key_id(ORIGIN, checkpoint_signer().public_key)
    assert key_id(ORIGIN, SIGNER.public_key) != key_id("other.example/decisions/-", SIGNER.public_key)
    assert key_id(ORIGIN, entry_signer().public_key) != key_id(ORIGIN, checkpoint_signer().public_key)


def test_the_empty_chain_has_a_checkpoint() -> None:
    empty = Checkpoint(ORIGIN, 0, EMPTY_ROOT)
    assert verify_note(sign_checkpoint(empty, SIGNER), ORIGIN, TRUSTED) == empty


def test_signatures_of_unknown_parties_are_passed_over() -> None:
    """RF-17: a witness may sign with any name, key and length of signature."""
    witness = base64.b64encode(b"wits" + b"s" * 72).decode()
    cosigned = f"{NOTE}\u2014 witness.example/w {witness}\n"
    assert verify_note(cosigned, ORIGIN, TRUSTED) == CHECKPOINT
    assert len(parse_note(cosigned).signatures) == 2
    with pytest.raises(CheckpointError, match="not signed by a trusted"):
        verify_note(cosigned, ORIGIN, [STRANGER.public_key])


def test_a_note_has_room_for_many_witnesses_and_an_end() -> None:
    witness = base64.b64encode(b"wits" + b"s" * 72).decode()
    lines = [f"\u2014 witness.example/{number} {witness}\n" for number in range(1_000)]
    assert verify_note(NOTE + "".join(lines[:16]), ORIGIN, TRUSTED) == CHECKPOINT
    with pytest.raises(CheckpointError, match="at most 65536 characters"):
        parse_note(NOTE + "".join(lines))


def test_our_key_under_another_name_is_an_unknown_party() -> None:
    line = NOTE.splitlines()[-1].replace(ORIGIN, "other.example/decisions/-")
    with pytest.raises(CheckpointError, match="not signed by a trusted"):
        verify_note(f"{CHECKPOINT.text()}\n{line}\n", ORIGIN, TRUSTED)


def test_a_wrong_signature_under_a_trusted_key_refuses_the_whole_note() -> None:
    """RF-17: even beside a right one."""
    blob = key_id(ORIGIN, SIGNER.public_key) + STRANGER.sign(CHECKPOINT.text().encode())
    wrong = f"\u2014 {ORIGIN} {base64.b64encode(blob).decode()}\n"
    for note in (f"{CHECKPOINT.text()}\n{wrong}", NOTE + wrong):
        with pytest.raises(CheckpointError, match="wrong signature"):
            verify_note(note, ORIGIN, TRUSTED)


def test_lines_after_the_root_are_signed_and_mean_nothing() -> None:
    """RF-17."""
    text = f"{CHECKPOINT.text()}an extension\n"
    blob = key_id(ORIGIN, SIGNER.public_key) + SIGNER.sign(text.encode())
    note = f"{text}\n\u2014 {ORIGIN} {base64.b64encode(blob).decode()}\n"
    assert verify_note(note, ORIGIN, TRUSTED) == CHECKPOINT
    with pytest.raises(CheckpointError, match="wrong signature"):
        verify_note(note.replace("an extension\n", ""), ORIGIN, TRUSTED)


def test_no_changed_character_of_a_note_is_accepted() -> None:
    for index in range(len(NOTE)):
        changed = NOTE[:index] + chr(ord(NOTE[index]) ^ 1) + NOTE[index + 1 :]
        with pytest.raises(CheckpointError):
            verify_note(changed, ORIGIN, TRUSTED)


ROOT_TEXT = base64.b64encode(bytes(32)).decode()
SIGNATURE_LINE = NOTE.splitlines()[-1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        CHECKPOINT.text(),
        NOTE.removesuffix("\n"),
        NOTE.removesuffix("\n") + "x",
        NOTE + "\n",
        f"{CHECKPOINT.text()}a\ttab\n\n{SIGNATURE_LINE}\n",
        f"{CHECKPOINT.text()}\nafter an empty line\n\n{SIGNATURE_LINE}\n",
        NOTE.replace("\n", "\r\n"),
        NOTE.replace("\n40\n", "\n\x00\n"),
        f"{ORIGIN}\n40\n\n{SIGNATURE_LINE}\n",
        f"{ORIGIN}\n\n40\n{ROOT_TEXT}\n\n{SIGNATURE_LINE}\n",
        f"no origin\n40\n{ROOT_TEXT}\n\n{SIGNATURE_LINE}\n",
        *(
            f"{ORIGIN}\n{size}\n{ROOT_TEXT}\n\n{SIGNATURE_LINE}\n"
            for size in ("", "-1", "01", "1.0", "٣", "9" * 16, "9" * 99)
        ),
        *(
            f"{ORIGIN}\n40\n{root}\n\n{SIGNATURE_LINE}\n"
            for root in ("AA==", ROOT_TEXT[:-1], ROOT_TEXT[:-2] + "B=", "!")
        ),
        *(
            f"{CHECKPOINT.text()}\n{line}\n"
            for line in (
                "",
                "- a AAAAAAAA",
                "\u2014 a",
                "\u2014 a b c",
                "\u2014 a+b AAAAAAAA",
                "\u2014 a AAAAA",
                "\u2014 a AAAA",
            )
        ),
    ],
)
def test_a_note_that_is_not_spelled_exactly_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError):
        parse_note(text)
