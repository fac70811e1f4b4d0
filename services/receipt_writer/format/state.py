"""The state of a ledger: one signed row for every other chain, and the entry that says why it was made (L1, L7).

`state.json` is the newest line of the state chain and one line break, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

STATE_LAYER = "L1"
REGENERATION_LAYER = "L7"


@dataclass(frozen=True, slots=True)
class ChainState:
    """Where one chain ends: how many entries, the 32-byte root over their lines, the newest one's hash.

    An empty chain has the empty tree's root and the genesis hash of its origin.
    """

    chain: str
    size: int
    root_hash: bytes
    head_hash: str


def state_draft(states: Sequence[ChainState]) -> dict[str, object]:
    """Return the L1 draft over these rows, in the order given: the table's."""
    rows = [
        {"chain": one.chain, "size": one.size, "rootHash": one.root_hash.hex(), "headHash": one.head_hash}
        for one in states
    ]
    return {"chains": rows}


def regeneration_draft(reason: str, state_id: int, states: Sequence[ChainState]) -> dict[str, object]:
    """Return the L7 draft of the run that is about to make L1 entry `state_id`; `states` are the rows before the run.

    `entries` is the sum of the sizes in that L1 entry, which counts this L7 entry, too.
    """
    entries = sum(one.size for one in states) + 1
    return {"reason": reason, "stateId": state_id, "chains": len(states), "entries": entries}


def states_of(fields: Mapping[str, object]) -> list[ChainState]:
    """Return the rows of an L1 entry."""
    rows = cast("list[dict[str, Any]]", fields["chains"])
    return [ChainState(row["chain"], row["size"], bytes.fromhex(row["rootHash"]), row["headHash"]) for row in rows]


def covered_sizes(fields: Mapping[str, object]) -> dict[str, int]:
    """Return how many entries of each chain an L1 entry covers, by chain name."""
    return {row.chain: row.size for row in states_of(fields)}
