from __future__ import annotations

from receipt_writer.format.digest import genesis_hash
from receipt_writer.format.entry import check_draft
from receipt_writer.format.merkle import EMPTY_ROOT
from receipt_writer.format.state import ChainState, covered_sizes, regeneration_draft, state_draft

STATES = [
    ChainState("keys", 2, bytes(range(32)), "a" * 64),
    ChainState("decisions", 0, EMPTY_ROOT, genesis_hash("home/decisions/-")),
]


def test_a_state_has_a_row_for_each_chain_in_the_order_given() -> None:
    """RF-30."""
    draft = state_draft(STATES)
    check_draft("L1", "v2", draft)
    assert draft == {
        "chains": [
            {"chain": "keys", "size": 2, "rootHash": bytes(range(32)).hex(), "headHash": "a" * 64},
            {
                "chain": "decisions",
                "size": 0,
                "rootHash": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "headHash": genesis_hash("home/decisions/-"),
            },
        ]
    }


def test_a_regeneration_counts_itself_among_the_entries_that_the_state_covers() -> None:
    draft = regeneration_draft("key_changed", 4, STATES)
    check_draft("L7", "v2", draft)
    assert draft == {"reason": "key_changed", "stateId": 4, "chains": 2, "entries": 3}


def test_what_a_state_covers_can_be_read_back() -> None:
    assert covered_sizes(state_draft(STATES)) == {"keys": 2, "decisions": 0}
