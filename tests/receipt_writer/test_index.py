from __future__ import annotations

from typing import Any

import pytest

from receipt_writer.errors import RequestRefusedError
from receipt_writer.format.chain import head_after
from receipt_writer.format.merkle import inclusion_path, leaf_hash, root_of, verify_inclusion
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import ChainIndex, Filter
from tests.receipt_writer.format.material import START_MS, SeedSigner, decision_chain
from tests.receipt_writer.parts import decision, ulid

SIGNER = SeedSigner(b"\1" * 32)
TURNS = [ulid("t_", number) for number in (1, 1, 2, 1, 3, 2)]
SPECS = ["gate", "gate", "draft", "draft", "gate", "gate"]
ENTRIES = decision_chain(
    [
        decision(number, turnId=turn, specId=spec)
        for number, (turn, spec) in enumerate(zip(TURNS, SPECS, strict=True), 1)
    ],
    SIGNER,
    step_ms=10,
)


@pytest.fixture
def index() -> ChainIndex:
    filled = ChainIndex(LAYERS["L12"], "prometheus.example")
    for entry in ENTRIES:
        filled.add(entry.fields, entry.line, head_after(entry))
    return filled


def test_an_entry_is_found_by_its_idempotency_key(index: ChainIndex) -> None:
    assert [index.id_of(ulid("c_", number)) for number in (1, 6, 7)] == [1, 6, None]


def test_an_empty_chain_selects_nothing() -> None:
    assert list(ChainIndex(LAYERS["L10"], "a").select(Filter(newest_first=True, limit=3))) == []


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({}, [1, 2, 3, 4, 5, 6]),
        ({"from_id": 3}, [3, 4, 5, 6]),
        ({"to_id": 2}, [1, 2]),
        ({"from_id": 5, "to_id": 99}, [5, 6]),
        ({"from_id": 5, "to_id": 4}, []),
        ({"from_id": 7}, []),
        ({"limit": 2}, [1, 2]),
        ({"newest_first": True}, [6, 5, 4, 3, 2, 1]),
        ({"newest_first": True, "limit": 2, "to_id": 4}, [4, 3]),
        ({"members": (("turnId", ulid("t_", 1)),)}, [1, 2, 4]),
        ({"members": (("turnId", ulid("t_", 1)),), "newest_first": True, "limit": 2}, [4, 2]),
        ({"members": (("turnId", ulid("t_", 1)),), "from_id": 2, "to_id": 3}, [2]),
        ({"members": (("turnId", ulid("t_", 1)), ("specId", "draft"))}, [4]),
        ({"members": (("specId", "gate"), ("turnId", ulid("t_", 3)))}, [5]),
        ({"members": (("specId", "absent"),)}, []),
        ({"recorded_from_ms": START_MS + 20}, [3, 4, 5, 6]),
        ({"recorded_from_ms": START_MS + 21}, [4, 5, 6]),
        ({"recorded_to_ms": START_MS + 20}, [1, 2]),
        ({"recorded_from_ms": START_MS + 10, "recorded_to_ms": START_MS + 30, "members": (("specId", "gate"),)}, [2]),
        ({"recorded_from_ms": START_MS + 999}, []),
    ],
)
def test_a_filter_selects_what_satisfies_all_of_it(index: ChainIndex, wanted: dict[str, Any], ids: list[int]) -> None:
    assert list(index.select(Filter(**wanted))) == ids


def test_a_filter_by_a_member_that_the_chain_does_not_have_is_refused(index: ChainIndex) -> None:
    with pytest.raises(RequestRefusedError, match="decisions cannot be filtered by sessionId; they can by: turnId"):
        index.select(Filter(members=(("sessionId", ulid("s_", 1)),)))


def test_the_tree_is_the_tree_over_the_lines(index: ChainIndex) -> None:
    leaves = [leaf_hash(entry.line) for entry in ENTRIES]
    assert index.frontier.root() == root_of(leaves)
    assert index.tree.leaf_hashes(0, 6) == b"".join(leaves)
    path = inclusion_path(index.tree, 3, 6)
    assert verify_inclusion(leaves[3], 3, 6, path, index.frontier.root())


def test_an_entry_of_the_first_form_has_no_key_and_no_turn() -> None:
    index = ChainIndex(LAYERS["L12"], "a")
    entry = ENTRIES[0]
    fields = {name: value for name, value in entry.fields.items() if name not in {"callId", "turnId"}}
    index.add(fields, entry.line, head_after(entry))
    assert index.head.size == 1
    assert list(index.select(Filter(members=(("turnId", TURNS[0]),)))) == []
