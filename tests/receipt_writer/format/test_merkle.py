from __future__ import annotations

import base64
import json
from functools import cache
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
