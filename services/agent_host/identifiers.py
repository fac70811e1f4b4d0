"""Names that stay unique without a coordinator: a prefix and a ULID (receipts.md section 3)."""

from __future__ import annotations

import secrets

from ulid import ULID


def new_turn_id() -> str:
    """Returns `t_` and a ULID: names one turn and is its idempotency key in the ledger."""
    return f"t_{ULID()}"


def new_session_id() -> str:
    """Returns `s_` and a ULID: names one conversation."""
    return f"s_{ULID()}"


def new_review_id() -> str:
    """Returns `r_` and a ULID: names one reviewer's verdict and is its idempotency key in the ledger."""
    return f"r_{ULID()}"


def new_version_id() -> str:
    """Returns `v_` and a ULID: names one version of a component and is its idempotency key in the ledger."""
    return f"v_{ULID()}"


def began_at_ms(identifier: str) -> int:
    """Returns when an id of ours was made, in milliseconds since the Unix epoch; 0 for a text that is none."""
    try:
        return ULID.from_str(identifier[2:]).milliseconds
    except ValueError:
        return 0


def new_call_id() -> str:
    """Returns `c_` and a ULID: names one model call and is its idempotency key in the ledger."""
    return f"c_{ULID()}"


def new_use_id() -> str:
    """Returns `u_` and a ULID: names one tool call that the host makes of its own accord."""
    return f"u_{ULID()}"


def new_batch_id() -> str:
    """Returns `b_` and a ULID: names one consolidated batch; with a position it is a memory's idempotency key."""
    return f"b_{ULID()}"


def new_judge_id() -> str:
    """Returns `j_` and 16 hex digits: names one judging of a turn in the usage ledger (agent.md row 80)."""
    return f"j_{secrets.token_hex(8)}"
