"""An in-memory receipt writer for the host's tests; numbers entries and is idempotent by id, like the real one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.receipts.drafts import DecisionDraft, SpecDraft, TurnIntent, TurnReceipt
from agent_host.receipts.protocol import StoredEntry

Draft = TypeVar("Draft")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class FakeWriter:
    """A `Writer`. `away` makes it unreachable; `refuses` names turn ids, call ids or spec hashes it will not take.

    `asked` are the ids and hashes of all that it was sent, repeats included.
    """

    def __init__(self) -> None:
        self.away = False
        self.refuses: set[str] = set()
        self.intents: list[TurnIntent] = []
        self.specs: list[SpecDraft] = []
        self.asked: list[str] = []
        self.decisions: list[DecisionDraft] = []
        self.turns: list[TurnReceipt] = []

    async def begin_turn(self, intent: TurnIntent) -> None:
        self._answer(intent.turn_id)
        known = next((one for one in self.intents if one.turn_id == intent.turn_id), None)
        if known is None:
            self.intents.append(intent)
        elif known != intent:
            raise ReceiptRefusedError(f"{intent.turn_id} began before with other fields")

    async def append_spec(self, draft: SpecDraft) -> StoredEntry:
        self._answer(draft.spec_hash)
        return StoredEntry(_place(self.specs, draft, lambda one: one.spec_hash), "c" * 64, 0, "{}")

    async def append_decision(self, draft: DecisionDraft) -> StoredEntry:
        self._answer(draft.call_id)
        if not _KEBAB.fullmatch(draft.spec_id):
            raise ReceiptRefusedError(f"specId of {draft.call_id} must be kebab-case")
        return StoredEntry(_place(self.decisions, draft, lambda one: one.call_id), "d" * 64, 0, "{}")

    async def append_turn(self, receipt: TurnReceipt) -> StoredEntry:
        self._answer(receipt.turn_id)
        if receipt.turn_id not in {intent.turn_id for intent in self.intents}:
            raise ReceiptRefusedError(f"{receipt.turn_id} was never begun")
        return StoredEntry(_place(self.turns, receipt, lambda one: one.turn_id), "e" * 64, 0, "{}")

    def _answer(self, name: str) -> None:
        self.asked.append(name)
        if self.away:
            raise WriterUnavailableError("The receipt writer does not answer.")
        if name in self.refuses:
            raise ReceiptRefusedError(f"{name} is refused")


def _place(chain: list[Draft], draft: Draft, key: Callable[[Draft], str]) -> int:
    """Returns the number of a draft, appending it when it is new.

    Raises:
        ReceiptRefusedError: another draft has its key.
    """
    known = next((number for number, one in enumerate(chain, start=1) if key(one) == key(draft)), None)
    if known is None:
        chain.append(draft)
        return len(chain)
    if chain[known - 1] != draft:
        raise ReceiptRefusedError(f"{key(draft)} was recorded before with other fields")
    return known
