from __future__ import annotations

import base64
import json
import os
import tracemalloc
from array import array
from typing import Any

import pytest

from receipt_writer.errors import RequestRefusedError
from receipt_writer.format.chain import Head, head_after, next_entry
from receipt_writer.format.kinds import Kind, Record
from receipt_writer.format.merkle import inclusion_path, leaf_hash, root_of, verify_inclusion
from receipt_writer.format.schema import LAYERS
from receipt_writer.index import BLOCK_ENTRIES, ChainIndex, Filter, Rows
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


EVERY_FILTER = [(layer.name, name, path) for layer in LAYERS.values() for name, path in layer.filters.items()]


def line_with(path: tuple[str, ...], value: str) -> tuple[dict[str, Any], bytes]:
    """Return the body's members and the line of an entry that says nothing but this, under some signature."""
    body: dict[str, Any] = {}
    inner = body
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value
    attestation = body.pop("attestation", {"publicKey": "A" * 43 + "="})
    return body, json.dumps({**body, "attestation": attestation}, separators=(",", ":")).encode()


@pytest.mark.parametrize(("layer", "name", "path"), EVERY_FILTER)
def test_a_filter_of_the_table_finds_the_entries_with_its_member(layer: str, name: str, path: tuple[str, ...]) -> None:
    index = ChainIndex(LAYERS[layer], "home")
    values = ["B" * 43 + "=", "C" * 43 + "=", "B" * 43 + "="]
    for entry_id, value in enumerate(values, 1):
        index.add(*line_with(path, value), Head(entry_id, "", START_MS))
    wanted = Filter(members=((name, values[0]),))
    assert list(index.select(wanted)) == [1, 3]
    assert list(index.select(Filter(members=((name, "D" * 43 + "="),)))) == []
    for value, holds in ((values[0], True), (values[1], False)):
        assert index.matches(wanted, json.loads(line_with(path, value)[1])) is holds
    assert not index.matches(wanted, {})


@pytest.mark.parametrize(("layer", "name", "path"), EVERY_FILTER)
def test_a_filter_of_the_table_names_a_member_of_the_layer(layer: str, name: str, path: tuple[str, ...]) -> None:
    assert name.isalpha()
    kind: Kind = LAYERS[layer].form("v2").line
    for part in path:
        assert isinstance(kind, Record)
        kind = next(member.kind for member in kind.members if member.name == part)
    assert not isinstance(kind, Record)


def test_every_chain_can_be_asked_for_what_a_key_signed() -> None:
    assert all("key" in layer.filters for layer in LAYERS.values())


def test_entries_are_found_by_the_key_that_signed_them() -> None:
    other = SeedSigner(b"\2" * 32)
    index = ChainIndex(LAYERS["L12"], "prometheus.example")
    head = index.head
    for number, signer in enumerate((SIGNER, other, SIGNER), 1):
        entry, head = next_entry(head, "L12", "v2", decision(number), now_ms=1, tenant_id=None, signer=signer)
        index.add(entry.fields, entry.line, head)
    for signer, ids in ((SIGNER, [1, 3]), (other, [2])):
        key = base64.b64encode(signer.public_key).decode()
        assert list(index.select(Filter(members=(("key", key),)))) == ids


def test_what_is_selected_is_as_of_the_question(index: ChainIndex) -> None:
    asked = index.select(Filter(members=(("specId", "gate"),)))
    later, head = next_entry(
        index.head, "L12", "v2", decision(9, specId="gate"), now_ms=START_MS + 99, tenant_id=None, signer=SIGNER
    )
    index.add(later.fields, later.line, head)
    assert list(asked) == [1, 2, 5, 6]
    assert index.ids_with("specId", "gate") == [1, 2, 5, 6, 7]


def test_the_newest_entry_under_a_key_is_the_one_that_is_found() -> None:
    index = ChainIndex(LAYERS["L10"], "home")
    for entry_id in (1, 2):
        index.add({"turnId": "t_1"}, b"{}", Head(entry_id, "", START_MS))
    assert index.id_of("t_1") == 2
    assert index.id_of("") is None


def test_a_key_of_two_members_is_found_by_both() -> None:
    index = ChainIndex(LAYERS["L5"], "home")
    for entry_id, state in enumerate(("admitted", "completed"), 1):
        index.add({"callId": "c_1", "state": state}, b"{}", Head(entry_id, "", START_MS))
    assert [index.id_of(f"c_1 {state}") for state in ("admitted", "completed", "failed")] == [1, 2, None]
    assert index.ids_with("callId", "c_1") == [1, 2]


def test_a_tenants_chain_has_an_origin_and_a_first_head_of_its_own() -> None:
    own, foreign = ChainIndex(LAYERS["L12"], "home"), ChainIndex(LAYERS["L12"], "home", "acme")
    assert (own.origin, foreign.origin) == ("home/decisions/-", "home/decisions/acme")
    assert own.head.hash != foreign.head.hash


def test_a_million_entries_fit_into_150_megabytes() -> None:
    """What stays of an entry: these columns, and 8 bytes in the chain's file that say where its line ends."""
    index, blocks = ChainIndex(LAYERS["L12"], "home"), 200
    numbers = [0] * BLOCK_ENTRIES
    tracemalloc.start()
    for block in range(blocks):
        keys, values = os.urandom(12 * BLOCK_ENTRIES), (bytes(6 * BLOCK_ENTRIES),) * len(LAYERS["L12"].filters)
        rows = Rows(bytes(32), bytes(32 * BLOCK_ENTRIES), array("q", numbers), array("I", numbers), keys, values)
        index.adopt(rows, Head((block + 1) * BLOCK_ENTRIES, "", START_MS))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    per_chain = 4096 * 200  # the buckets of keys, whatever is in them
    assert (taken - per_chain) / (blocks * BLOCK_ENTRIES) + 8 < 150
