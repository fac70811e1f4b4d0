from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipt_writer.format.errors import TreeError
from receipt_writer.format.merkle import (
    EMPTY_ROOT,
    Frontier,
    Tree,
    consistency_path,
    inclusion_path,
    leaf_hash,
    node_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from tests.receipt_writer.format import trees
from tests.receipt_writer.format.material import shared_data, vector_json, vector_lines

LARGEST = 300
LEAVES = trees.numbered_leaves(LARGEST)
TREE = Tree(LEAVES)
sizes = st.integers(1, LARGEST)


@cache
def root(size: int) -> bytes:
    return root_of(LEAVES[:size])


def test_leaves_and_nodes_are_hashed_apart() -> None:
    """RF-16: a leaf can never be read as a node."""
    assert leaf_hash(b"a" * 64) != node_hash(b"a" * 32, b"a" * 32)
    assert leaf_hash(b"0") == LEAVES[0]


def test_the_empty_tree_has_the_root_of_the_vectors() -> None:
    """RF-16."""
    expected = bytes.fromhex(vector_json("basics.json")["emptyRoot"])
    assert Frontier().root() == root_of([]) == EMPTY_ROOT == expected


def test_a_growing_frontier_has_the_root_of_the_definition_at_every_size() -> None:
    """RF-16."""
    frontier = Frontier()
    for size in range(LARGEST + 1):
        assert frontier.size == size
        assert frontier.root() == trees.tree_head(LEAVES[:size])
        if size < LARGEST:
            frontier = frontier.append(LEAVES[size])


def test_a_frontier_is_a_value_that_appending_does_not_change() -> None:
    before = Frontier().append(LEAVES[0])
    after = before.append(LEAVES[1])
    assert (before.size, after.size) == (1, 2)
    assert before == Frontier(1, (LEAVES[0],))


@pytest.mark.parametrize(("size", "peaks"), [(1, ()), (0, (b"x",)), (3, (b"x",)), (-1, (b"x",))])
def test_a_frontier_that_does_not_fit_its_size_is_refused(size: int, peaks: tuple[bytes, ...]) -> None:
    with pytest.raises(TreeError, match="perfect subtrees"):
        Frontier(size, peaks)


@given(sizes, st.data())
def test_inclusion_paths_are_those_of_the_definition_and_verify(size: int, data: st.DataObject) -> None:
    """RF-16."""
    index = data.draw(st.integers(0, size - 1))
    path = inclusion_path(TREE, index, size)
    assert path == trees.audit_path(index, LEAVES[:size])
    assert verify_inclusion(LEAVES[index], index, size, path, root(size))


@given(sizes, sizes)
def test_consistency_paths_are_those_of_the_definition_and_verify(a: int, b: int) -> None:
    """RF-16."""
    smaller, larger = sorted((a, b))
    path = consistency_path(TREE, smaller, larger)
    assert path == trees.consistency_proof(smaller, LEAVES[:larger])
    assert verify_consistency(smaller, larger, path, root(smaller), root(larger))


@given(st.lists(st.integers(0, 80), max_size=12))
def test_a_tree_is_the_same_in_whatever_pieces_its_leaves_come(pieces: list[int]) -> None:
    tree, size = Tree(), 0
    for piece in pieces:
        added = LEAVES[size : size + piece]
        if len(added) == 1:
            tree.append(added[0])
        else:
            tree.extend(b"".join(added))
        size += len(added)
        assert len(tree) == size
        assert tree.root() == root(size)
        assert tree.frontier().root() == root(size)


def test_a_tree_knows_its_root_at_every_size_it_ever_had() -> None:
    """RF-16."""
    assert [TREE.root(size) for size in range(LARGEST + 1)] == [root(size) for size in range(LARGEST + 1)]
    assert TREE.root(0) == EMPTY_ROOT


def test_a_tree_gives_its_leaves_back() -> None:
    assert [TREE[index] for index in range(LARGEST)] == LEAVES
    assert TREE.leaf_hashes(7, 9) == LEAVES[7] + LEAVES[8]
    for index in (-1, LARGEST):
        with pytest.raises(IndexError):
            TREE[index]


@pytest.mark.parametrize("size", [-1, LARGEST + 1])
def test_there_is_no_root_of_a_size_the_tree_never_had(size: int) -> None:
    with pytest.raises(TreeError, match=f"no tree of size {size}"):
        TREE.root(size)


class VastTree(Tree):
    """A tree of any size that holds nothing: what it says of its nodes is made up, what it hashes is not."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def __len__(self) -> int:
        return self.size

    def _nodes(self, level: int, start: int, end: int) -> bytes:
        assert 0 <= start < end <= self.size >> 4 * level
        return bytes(32 * (end - start))


def hashes_of_a_proof(size: int, prove: Callable[[Tree], object], monkeypatch: pytest.MonkeyPatch) -> int:
    count = 0

    def counted(data: bytes = b"") -> Any:
        nonlocal count
        count += 1
        return sha256(data)

    monkeypatch.setattr("receipt_writer.format.merkle.hashlib.sha256", counted)
    prove(VastTree(size))
    return count


@pytest.mark.parametrize(("size", "most"), [(1_000, 80), (100_000, 130), (10_000_000, 190), (10_000_019, 220)])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 0.77, 0.999_999])
def test_a_proof_takes_hashes_by_the_height_of_the_tree(
    size: int, most: int, place: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten million entries: two hundred hashes of 65 bytes, far less than a millisecond of any machine."""
    index = int(size * place)
    for prove in (
        lambda tree: inclusion_path(tree, index, size),
        lambda tree: consistency_path(tree, index + 1, size),
        lambda tree: tree.root(index + 1),
    ):
        assert hashes_of_a_proof(size, prove, monkeypatch) <= most


def test_the_proofs_of_the_example_in_the_rfc_are_made() -> None:
    """RFC 6962 section 2.1.3: the tree of seven leaves and the names of its nodes."""
    a, b, c, d, e, f, j = LEAVES[:7]
    g, h, i = node_hash(a, b), node_hash(c, d), node_hash(e, f)
    k, m = node_hash(g, h), node_hash(i, j)  # the RFC calls the second one l
    tree = Tree([a, b, c, d, e, f, j])
    assert tree.root() == node_hash(k, m)
    assert inclusion_path(tree, 0, 7) == [b, h, m]
    assert inclusion_path(tree, 3, 7) == [c, g, m]
    assert inclusion_path(tree, 4, 7) == [f, j, k]
    assert inclusion_path(tree, 6, 7) == [i, k]
    assert consistency_path(tree, 3, 7) == [c, d, g, m]
    assert consistency_path(tree, 4, 7) == [m]
    assert consistency_path(tree, 6, 7) == [i, j, k]


def test_the_proofs_of_the_vectors_are_made_and_accepted() -> None:
    known = vector_json("merkle.json")
    roots = [bytes.fromhex(value) for value in known["roots"]]
    leaves = trees.numbered_leaves(len(roots) - 1)
    assert [root_of(leaves[:size]) for size in range(len(roots))] == roots
    for row in known["inclusion"]:
        path = [bytes.fromhex(node) for node in row["path"]]
        assert inclusion_path(Tree(leaves), row["index"], row["size"]) == path
        assert verify_inclusion(leaves[row["index"]], row["index"], row["size"], path, roots[row["size"]])
    for row in known["consistency"]:
        path = [bytes.fromhex(node) for node in row["path"]]
        assert consistency_path(Tree(leaves), row["from"], row["to"]) == path
        assert verify_consistency(row["from"], row["to"], path, roots[row["from"]], roots[row["to"]])


def test_the_inclusion_proof_of_a_receipt_is_that_of_the_vectors() -> None:
    known = vector_json("inclusion.json")
    leaves = [leaf_hash(line) for line in vector_lines(known["chain"])]
    index, size = known["id"] - 1, known["size"]
    assert leaves[index].hex() == known["leafHash"]
    assert root_of(leaves[:size]).hex() == known["rootHash"]
    path = inclusion_path(Tree(leaves), index, size)
    assert [node.hex() for node in path] == known["path"]
    assert verify_inclusion(leaves[index], index, size, path, bytes.fromhex(known["rootHash"]))


@given(sizes, st.data())
def test_a_proof_for_another_place_size_leaf_or_root_does_not_hold(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    other_index = data.draw(st.integers(-1, LARGEST).filter(lambda other: other != index))
    path = inclusion_path(TREE, index, size)
    leaf, tree = LEAVES[index], root(size)
    assert not verify_inclusion(leaf, other_index, size, path, tree)
    assert not verify_inclusion(LEAVES[index - 1], index, size, path, tree) or size == 1
    assert not verify_inclusion(leaf, index, size, path, bytes(32))
    assert not verify_inclusion(leaf, index, size, [*path, bytes(32)], tree)
    assert not verify_inclusion(leaf, index, size, [bytes(32), *path], tree)
    if path:
        assert not verify_inclusion(leaf, index, size, path[:-1], tree)
        assert not verify_inclusion(leaf, index, size, path[1:], tree)


def test_an_inner_node_is_no_root() -> None:
    """RF-16: a path that ends early leads to a node of the tree, which must not be taken for a root."""
    first, second = trees.numbered_leaves(2)
    assert verify_inclusion(first, 0, 2, [second], node_hash(first, second))
    assert not verify_inclusion(first, 0, 4, [second], node_hash(first, second))
    assert not verify_inclusion(first, 0, 4, [], first)


@given(sizes, sizes)
def test_a_consistency_proof_for_other_sizes_or_roots_does_not_hold(a: int, b: int) -> None:
    smaller, larger = sorted((a, b))
    path = consistency_path(TREE, smaller, larger)
    older, newer = root(smaller), root(larger)
    assert not verify_consistency(smaller, larger, path, bytes(32), newer)
    assert not verify_consistency(smaller, larger, path, older, bytes(32))
    assert not verify_consistency(smaller, larger, [*path, bytes(32)], older, newer)
    assert not verify_consistency(larger + 1, larger, path, older, newer)
    assert not verify_consistency(0, larger, path, older, newer)
    if path:
        assert not verify_consistency(smaller, larger, path[:-1], older, newer)
        assert not verify_consistency(smaller, larger, [], older, newer)


@pytest.mark.parametrize(("index", "size"), [(-1, 1), (0, 0), (1, 1), (0, LARGEST + 1)])
def test_there_is_no_inclusion_path_outside_the_tree(index: int, size: int) -> None:
    with pytest.raises(TreeError, match="has no proof"):
        inclusion_path(TREE, index, size)


@pytest.mark.parametrize(("smaller", "larger"), [(0, 1), (2, 1), (1, LARGEST + 1), (-1, 1)])
def test_there_is_no_consistency_path_outside_the_tree(smaller: int, larger: int) -> None:
    with pytest.raises(TreeError, match="have no proof"):
        consistency_path(TREE, smaller, larger)


def public_cases(kind: str) -> list[tuple[Path, dict[str, Any]]]:
    files = sorted(shared_data("merkle", "testdata", kind).rglob("*.json"))
    assert files
    return [(file, json.loads(file.read_bytes())) for file in files]


def decoded(case: dict[str, Any], name: str) -> bytes:
    return base64.b64decode(case[name] or "")


def proof_of(case: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(node) for node in case["proof"] or []]


def test_the_public_inclusion_cases_are_judged_as_there() -> None:
    cases = public_cases("inclusion")
    assert len(cases) > 90
    for file, case in cases:
        holds = verify_inclusion(
            decoded(case, "leafHash"), case["leafIdx"], case["treeSize"], proof_of(case), decoded(case, "root")
        )
        assert holds != case["wantErr"], file


def test_the_public_consistency_cases_are_judged_as_there() -> None:
    cases = public_cases("consistency")
    assert len(cases) > 90
    for file, case in cases:
        holds = verify_consistency(
            case["size1"], case["size2"], proof_of(case), decoded(case, "root1"), decoded(case, "root2")
        )
        assert holds != case["wantErr"], file


def test_the_public_cases_of_leaves_in_a_part_of_a_tree_are_judged_as_there() -> None:
    """A part that a tree can have is a tree of its own, whose leaves begin at `start`."""
    cases = public_cases("subtreeinclusion")
    assert len(cases) > 90
    for file, case in cases:
        start, end = case["start"], case["end"]
        is_a_part = 0 <= start < end and start % (1 << (end - start - 1).bit_length()) == 0
        holds = is_a_part and verify_inclusion(
            decoded(case, "leafHash"), case["leafIdx"] - start, end - start, proof_of(case), decoded(case, "root")
        )
        assert holds != case["wantErr"], file


def test_the_public_cases_of_a_part_that_is_a_beginning_are_judged_as_there() -> None:
    """A part that begins with the first leaf is an older tree; this format proves no others, nor the empty one."""
    cases = [(file, case) for file, case in public_cases("subtreeconsistency") if case["start"] == 0 < case["end"]]
    assert len(cases) > 30
    for file, case in cases:
        holds = verify_consistency(
            case["end"], case["size"], proof_of(case), decoded(case, "root1"), decoded(case, "root2")
        )
        assert holds != case["wantErr"], file
