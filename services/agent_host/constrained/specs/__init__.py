"""The specs this product ships (constrained-ai.md): a YAML file each, and the reply drafter with a deadline of its own.

`shipped_spec("retrieval-gate", identity)` gives one for the model that will answer. A person's own specs look the same.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Final

from agent_host.constrained.loading import spec_from_yaml
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.constrained.specs.drafting import FAILURE_MESSAGE, reply_drafter
from agent_host.errors import SpecError
from agent_host.providers.protocol import Identity

__all__ = ["CODE_IDENTITY", "FAILURE_MESSAGE", "SHIPPED", "reply_drafter", "shipped_spec"]

SHIPPED: Final = (
    "turn-router",
    "retrieval-gate",
    "slot-gate",
    "consolidation",
    "keep-gate",
    "report-scope",
    "restates",
    "turn-judge",
)
"""The specs that are YAML files here; `restates` is answered by code (`constrained.restating`)."""

CODE_IDENTITY: Final = Identity("offline", "restates-rules", "2")


@lru_cache(maxsize=64)
def shipped_spec(spec_id: str, identity: Identity) -> RuntimeAISpec:
    """Returns one of the `SHIPPED` specs for the model that will answer it; one answered by code names its own.

    Raises:
        SpecError: there is no such spec.
    """
    if spec_id not in SHIPPED:
        raise SpecError(f"No spec {spec_id[:40]!r} is shipped; there are {', '.join(SHIPPED)}.")
    text = files(__package__).joinpath(f"{spec_id}.yaml").read_text(encoding="utf-8")
    return spec_from_yaml(text, identity)
