"""A circuit breaker for each model of a provider: after some failures in a row it is left alone for a while.

One model that is overloaded or slow must not take the others of its provider away. No clock of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from agent_host.providers.protocol import Identity

FAILURES: Final = 5
COOL_DOWN_MS: Final = 30_000


@dataclass
class _Circuit:
    failures: int = 0
    closed_again_at_ms: int = 0


@dataclass
class Breakers:
    """Which models are left alone for now.

    After `failures` failures in a row nothing is sent to a model for `cool_down_ms`; then one call may try, and the
    others wait for another such time unless it does well.
    """

    failures: int = FAILURES
    cool_down_ms: int = COOL_DOWN_MS
    _circuits: dict[Identity, _Circuit] = field(default_factory=dict)

    def allows(self, identity: Identity, now_ms: int) -> bool:
        """Says whether this model may be called now."""
        circuit = self._circuits.get(identity)
        if circuit is None or circuit.failures < self.failures:
            return True
        if now_ms < circuit.closed_again_at_ms:
            return False
        circuit.closed_again_at_ms = now_ms + self.cool_down_ms
        return True

    def failed(self, identity: Identity, now_ms: int) -> None:
        """Counts a call that got no answer."""
        circuit = self._circuits.setdefault(identity, _Circuit())
        circuit.failures += 1
        circuit.closed_again_at_ms = now_ms + self.cool_down_ms

    def answered(self, identity: Identity) -> None:
        """Takes an answer, a refusal too, as a sign that it is there."""
        self._circuits.pop(identity, None)
