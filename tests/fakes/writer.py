"""An in-memory receipt writer for the host's tests; numbers entries and is idempotent like the real one."""

from __future__ import annotations

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.drafts import DecisionDraft, TurnIntent, TurnReceipt
from agent_host.receipts.protocol import StoredEntry


class FakeWriter:
    """A `Writer`. `away` makes it unreachable; `refuses` names turn or call ids it will not take."""

    def __init__(self) -> None:
        self.away = False
        self.refuses: set[str] = set()
        self.intents: list[TurnIntent] = []
        self.decisions: list[DecisionDraft] = []
        self.turns: list[TurnReceipt] = []

    async def begin_turn(self, intent: TurnIntent) -> None:
        self._answer(intent.turn_id)
        if intent not in self.intents:
            self.intents.append(intent)

    async def append_decision(self, draft: DecisionDraft) -> StoredEntry:
        self._answer(draft.call_id)
        if draft not in self.decisions:
            self.decisions.append(draft)
        return StoredEntry(self.decisions.index(draft) + 1, "d" * 64, 0, "{}")

    async def append_turn(self, receipt: TurnReceipt) -> StoredEntry:
        self._answer(receipt.turn_id)
        if receipt.turn_id not in {intent.turn_id for intent in self.intents}:
            raise ReceiptRefusedError(f"{receipt.turn_id} was never begun")
        if receipt not in self.turns:
            self.turns.append(receipt)
        return StoredEntry(self.turns.index(receipt) + 1, "e" * 64, 0, "{}")

    def _answer(self, name: str) -> None:
        if self.away:
            raise WriterUnavailableError("The receipt writer does not answer.")
        if name in self.refuses:
            raise ReceiptRefusedError(f"{name} is refused")
