"""What a slash command is, and what its handler works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from agent_host.gateways.screen import Rows
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from agent_host.chat_log import Found, SessionSummary
    from agent_host.memory_overview import MemoryOverview
    from agent_host.providers.protocol import Identity
    from agent_host.receipts.protocol import LedgerReader
    from agent_host.tracing.events import Emit
    from agent_host.turn import TurnResult


class ConversationHost(Protocol):
    """What a conversation needs of the host."""

    @property
    def session_id(self) -> str:
        """The session that is talked in."""
        ...

    async def turn(self, text: str, watch: Emit) -> TurnResult:
        """Runs one turn; cancelling it ends it early."""
        ...

    async def tools(self) -> Rows:
        """Returns the tools that can be used now, each with what it says of itself."""
        ...

    def sessions(self, limit: int) -> list[SessionSummary]:
        """Returns this home's sessions, the one talked in last first."""
        ...

    def search(self, words: str, limit: int) -> list[Found]:
        """Returns what was said with every one of the words in it, newest first."""
        ...

    def said(self, session_id: str) -> list[tuple[str, str]]:
        """Returns (role, content) of a session, oldest first."""
        ...

    def resume(self, session_id: str) -> None:
        """Goes on with an earlier session; raises `UsageError` when there is none of this id."""
        ...

    async def memory(self) -> MemoryOverview:
        """Returns what was remembered last, and how much waits to be consolidated."""
        ...

    async def model(self) -> Identity:
        """Returns who answers."""
        ...

    async def use_model(self, name: str) -> Identity:
        """Has another model of the same provider answer from the next turn on; raises `UsageError` if it cannot."""
        ...

    async def ledger(self) -> LedgerReader:
        """Returns the ledger of this home; raises `WriterUnavailableError` when its writer does not answer."""
        ...


@dataclass
class Desk:
    """What handlers work with: the host, the home's settings, and the turns of this conversation so far."""

    host: ConversationHost
    settings: Settings
    environ: Mapping[str, str]
    turns: list[TurnResult] = field(default_factory=list)


@dataclass(frozen=True)
class Answer:
    """What a command says: words, then a table, then words. `leaves` ends the conversation."""

    text: str = ""
    rows: Rows = ()
    after: str = ""
    leaves: bool = False


@dataclass(frozen=True)
class Choice:
    """Something that can follow a command's name, whole, and what it is."""

    text: str
    about: str = ""


Handler: TypeAlias = Callable[[Desk, str], Awaitable[Answer]]
"""Takes what followed the name. Raises `UsageError` when it cannot be used."""


@dataclass(frozen=True)
class Command:
    """One slash command. `arguments` is empty where nothing may follow; `choices` offers what can."""

    name: str
    arguments: str
    help: str
    run: Handler
    choices: Callable[[Desk, str], Sequence[Choice]] | None = None

    @property
    def usage(self) -> str:
        """The command as it is typed."""
        return f"{self.name} {self.arguments}".rstrip()
