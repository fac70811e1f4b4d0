"""The seam to whoever may say yes: a person at a terminal, a rule, or nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from agent_host.mcp_clients.permissions import Reason
from agent_host.providers.protocol import JsonValue

Answer: TypeAlias = Literal["yes", "no", "always", "rule", "unasked"]
"""`yes`, `no` and `always`, a yes for later calls too, are a person's. `rule` is a yes by a rule of this host, which
speaks for nobody; `unasked` means that nobody could be asked, which is nobody's no."""
YESES: Final[frozenset[Answer]] = frozenset({"yes", "always", "rule"})


@dataclass(frozen=True)
class CallQuestion:
    """May this call be made? `does` is the tool's own description, its first line."""

    server: str
    tool: str
    arguments: Mapping[str, JsonValue]
    does: str
    builtin: bool
    destructive: bool
    reason: Reason


@dataclass(frozen=True)
class ToolsQuestion:
    """May a server's changed tools be used? `change` says in a few words what changed, `lines` has it line by line."""

    server: str
    change: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class LessonQuestion:
    """May this be kept for good? `text` is all of it, `where` the file in the home; nobody answers it for later ones.

    `after_others`: the turn has read what other people wrote, or shows an earlier one that has.
    """

    kind: Literal["rule", "skill"]
    text: str
    where: str
    after_others: bool


Question: TypeAlias = CallQuestion | ToolsQuestion | LessonQuestion


class Approver(Protocol):
    """Answers questions, one at a time."""

    @property
    def is_person(self) -> bool:
        """Whether somebody sits there, who answers and who waits for the agent."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Returns the answer. Cancelling takes the question back. Never raises for what a person does."""
        ...


class NobodyToAsk:
    """The approver of a host that talks with nobody who could say yes."""

    is_person: Final = False

    async def ask(self, question: Question) -> Answer:  # noqa: ARG002 - the seam's signature
        """Returns `unasked`."""
        return "unasked"
