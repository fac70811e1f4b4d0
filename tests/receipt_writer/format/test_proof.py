from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.checkpoint import Checkpoint, sign_checkpoint
from receipt_writer.format.errors import CheckpointError, ProofError, TreeError
from receipt_writer.format.merkle import Tree, leaf_hash
from receipt_writer.format.proof import FIRST_LINE, Proof, parse_proof, prove_entry
from tests.receipt_writer.format.material import ORIGIN, SeedSigner, vector, vector_json, vector_lines

SIGNER = SeedSigner(b"\3" * 32)
LINES = vector_lines("golden.jsonl")
TREE = Tree(map(leaf_hash, LINES))


def note(size: int) -> str:
    return sign_checkpoint(Checkpoint(ORIGIN, size, TREE.root(size)), SIGNER)


def text(entry_id: int = 3, size: int = 7) -> str:
    return prove_entry(TREE, entry_id, LINES[entry_id - 1], note(size)).text()


def test_the_text_is_spelled_as_c2sp_says() -> None:
    """RF-32."""
    first, extra, index, *path = text().partition("\n\n")[0].split("\n")
    assert first == FIRST_LINE == "c2sp.org/tlog-proof@v1"
    assert extra == "extra " + base64.b64encode(LINES[2]).decode()
    assert index == "index 2"
    assert [base64.b64decode(node) for node in path] == [TREE[3], TREE.subtree(0, 2), TREE.subtree(4, 7)]
    assert text().partition("\n\n")[2] == note(7)


def test_a_receipt_is_proven_under_the_checkpoint_of_the_vectors() -> None:
    """RF-32, with the frozen checkpoint and the frozen path."""
    known = vector_json("inclusion.json")
    note_text = vector("golden.checkpoint").decode()
    proof = prove_entry(TREE, known["id"], LINES[known["id"] - 1], note_text)
    assert proof.checkpoint.checkpoint.size == known["size"]
    assert [node.hex() for node in proof.path] == known["path"]
    assert proof.holds()


@given(st.data())
def test_a_proof_of_any_entry_under_any_checkpoint_comes_back_and_holds(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(LINES)))
    entry_id = data.draw(st.integers(1, size))
    proof = prove_entry(TREE, entry_id, LINES[entry_id - 1], note(size))
    assert parse_proof(proof.text()) == proof
    assert proof.holds()


def test_the_only_entry_of_a_chain_needs_no_path() -> None:
    proof = prove_entry(TREE, 1, LINES[0], note(1))
    assert f"index 0\n\n{ORIGIN}\n" in proof.text()
    assert parse_proof(proof.text()) == proof
    assert proof.holds()


def test_a_proof_of_another_line_or_place_does_not_hold() -> None:
    proof = parse_proof(text())
    assert not Proof(LINES[3], proof.index, proof.path, proof.note).holds()
    assert not Proof(proof.line, 3, proof.path, proof.note).holds()
    assert not Proof(proof.line, proof.index, proof.path[:-1], proof.note).holds()
    assert not Proof(proof.line, proof.index, proof.path, note(6)).holds()


def test_there_is_no_proof_under_a_checkpoint_that_does_not_reach_the_entry() -> None:
    with pytest.raises(TreeError, match="Leaf 2 has no proof in a tree of size 2"):
        prove_entry(TREE, 3, LINES[2], note(2))
    with pytest.raises(CheckpointError):
        prove_entry(TREE, 3, LINES[2], "no note")


EXTRA = "extra " + base64.b64encode(LINES[2]).decode()
NODE = base64.b64encode(TREE[3]).decode()


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("tlog-proof@v1", "tlog-proof@v2", "begins with the line"),
        (FIRST_LINE, f"\ufeff{FIRST_LINE}", "begins with the line"),
        (FIRST_LINE, f" {FIRST_LINE}", "begins with the line"),
        (f"{EXTRA}\n", "", "second line"),
        (EXTRA, "extra ", "second line"),
        (EXTRA, EXTRA + "=", "second line"),
        (EXTRA, EXTRA.replace("extra ", "extra  "), "second line"),
        (EXTRA, EXTRA.replace("extra ", "Extra "), "second line"),
        (EXTRA, "extra " + base64.b64encode(b"x" * 65_537).decode(), "second line"),
        (EXTRA, "extra YR==", "second line"),
        ("index 2", "index 02", "third line"),
        ("index 2", "index -2", "third line"),
        ("index 2", "index +2", "third line"),
        ("index 2", "index \u0662", "third line"),
        ("index 2", "index 9007199254740991", "third line"),
        ("index 2", "index", "third line"),
        ("index 2", "index  2", "third line"),
        ("index 2", "index 2 ", "third line"),
        (NODE, NODE[:-4], "The path"),
        (NODE, NODE + "\r", "The path"),
        (NODE, f"{NODE}\n" * 64 + NODE, "The path"),
        (NODE, "", "does not end with a checkpoint"),
        (f"\n\n{ORIGIN}", f"\n{ORIGIN}", "The path"),
        (f"\n\n{ORIGIN}", f"\n\n\n{ORIGIN}", "does not end with a checkpoint"),
        (f"\n{ORIGIN}", "\nA/b", "does not end with a checkpoint"),
        ("\u2014", "-", "does not end with a checkpoint"),
    ],
)
def test_a_text_that_is_not_spelled_exactly_is_refused_with_the_part_that_is_wrong(
    old: str, new: str, part: str
) -> None:
    spoilt = text().replace(old, new, 1)
    assert spoilt != text()
    with pytest.raises(ProofError, match=part):
        parse_proof(spoilt)


@pytest.mark.parametrize("spoilt", ["", "\n\n", FIRST_LINE, FIRST_LINE + "\n", f"{FIRST_LINE}\n{EXTRA}\nindex 2\n"])
def test_a_text_that_ends_early_is_refused(spoilt: str) -> None:
    with pytest.raises(ProofError):
        parse_proof(spoilt)


def test_a_text_of_any_length_is_refused_before_it_is_read() -> None:
    with pytest.raises(ProofError, match="at most"):
        parse_proof(text() + "\n" * 200_000)


@given(st.integers(0, 2_000), st.text(max_size=3), st.integers(0, 3))
def test_no_change_makes_anything_but_a_proof_or_the_named_error(at: int, put: str, cut: int) -> None:
    whole = text()
    changed = whole[:at] + put + whole[at + cut :]
    try:
        proof = parse_proof(changed)
    except ProofError:
        return
    assert proof.text() == changed
