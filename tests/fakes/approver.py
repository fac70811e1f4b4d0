"""An `Approver` that answers from a list and keeps what it was asked."""

from __future__ import annotations

from agent_host.mcp_clients.approval import Answer, Question


class ScriptedApprover:
    """Gives its answers in order, and `no` when there are no more."""

    def __init__(self, *answers: Answer, is_person: bool = False) -> None:
        self.is_person = is_person
        self._answers = list(answers)
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        """Returns the next answer."""
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else "no"
