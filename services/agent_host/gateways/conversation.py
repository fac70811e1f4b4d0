"""A conversation over any reader and screen: messages, slash commands, Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from agent_host.chat_log import SessionSummary
from agent_host.errors import HostError, UsageError
from agent_host.gateways.message import accept_message
from agent_host.gateways.overview import SHOWN_SESSIONS, chosen, memory_text, resumed_text, sessions_text
from agent_host.gateways.readers import PromptInterruptedError, Reader
from agent_host.gateways.screen import Screen, table
from agent_host.memory_overview import MemoryOverview
from agent_host.receipts.line import receipt_line
from agent_host.tracing.events import Emit
from agent_host.turn import TurnResult
from service_runtime.errors import ServiceError

_LEAVE = ("/quit", "quit", "exit")
COMMANDS = (
    ("/help", "what can be typed here"),
    ("/tools", "the tools of every connected server"),
    ("/mcp", "the tool servers; /mcp accept NAME takes what one of them changed"),
    ("/memory", "what was remembered last, and what waits to be"),
    ("/sessions", "the conversations of this home, newest first"),
    ("/resume N", "go on with conversation N of that list, or with the one of an id"),
    ("/receipt", "the receipt of the last turn"),
    ("/quit", "leave; Ctrl-D and Ctrl-C twice do the same"),
)


class ConversationHost(Protocol):
    """What a conversation needs of the host."""

    async def turn(self, text: str, watch: Emit) -> TurnResult:
        """Runs one turn; cancelling it ends it early."""
        ...

    async def tool_names(self) -> tuple[str, ...]:
        """Returns the names of the tools that can be used now."""
        ...

    def sessions(self, limit: int) -> list[SessionSummary]:
        """Returns this home's sessions, the one talked in last first."""
        ...

    def resume(self, session_id: str) -> None:
        """Goes on with an earlier session; raises `UsageError` when there is none of this id."""
        ...

    async def memory(self) -> MemoryOverview:
        """Returns what was remembered last, and how much waits to be consolidated."""
        ...


class _Interrupts:
    """Ctrl-C: the first press cancels what runs or the reading, the second quits. `stop` quits at once."""

    def __init__(self) -> None:
        self.running: asyncio.Future[Any] | None = None
        self.presses = 0
        self.stopped = False

    def press(self) -> None:
        self.presses += 1
        if self.running is not None:
            self.running.cancel()

    def stop(self) -> None:
        self.stopped = True
        if self.running is not None:
            self.running.cancel()

    @property
    def quitting(self) -> bool:
        return self.stopped or self.presses > 1


async def converse(
    host: ConversationHost, reader: Reader, screen: Screen, servers: Callable[[str], str] | None = None
) -> bool:
    """Talks until the end of input, `/quit`, or Ctrl-C twice. Bad input costs one sentence, never the conversation.

    `servers` answers `/mcp` and what follows it; without it there is no such command.

    Returns False when SIGTERM or SIGHUP ended it; a turn that ran then is receipted as cancelled first.
    """
    talk = _Conversation(host, reader, screen, servers)
    loop = asyncio.get_running_loop()
    handlers = {signal.SIGINT: talk.interrupts.press, signal.SIGTERM: talk.interrupts.stop}
    handlers[signal.SIGHUP] = talk.interrupts.stop
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        await talk.run()
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
    return not talk.interrupts.stopped


class _Conversation:
    def __init__(
        self, host: ConversationHost, reader: Reader, screen: Screen, servers: Callable[[str], str] | None
    ) -> None:
        self._host = host
        self._servers = servers
        self._reader = reader
        self._screen = screen
        self._last: TurnResult | None = None
        self.interrupts = _Interrupts()

    async def run(self) -> None:
        while not self.interrupts.quitting:
            raw = await self._next_message()
            if raw is None:
                return
            try:
                text = accept_message(raw)
                if text.lower() in _LEAVE:
                    return
                await self._cancellable(self._command(text) if text.startswith("/") else self._turn(text))
            except (HostError, ServiceError) as error:
                self._screen.say(str(error))
            except OSError as error:
                self._screen.say(f"That was not possible ({error.strerror or error}); mend it and try again.")

    async def _next_message(self) -> str | bytes | None:
        """Reads a message; Ctrl-C meanwhile warns once and then ends the conversation."""
        while not self.interrupts.quitting:
            reading = asyncio.ensure_future(self._reader.read())
            self.interrupts.running = reading
            try:
                raw = await reading
            except PromptInterruptedError:
                self.interrupts.presses += 1
            except asyncio.CancelledError:
                if _is_being_cancelled():
                    raise
            else:
                self.interrupts.presses = 0
                return raw
            finally:
                self.interrupts.running = None
            if not self.interrupts.quitting:
                self._screen.say("Press Ctrl-C again, or type /quit, to leave.")
        return None

    async def _cancellable(self, step: Coroutine[Any, Any, None]) -> None:
        """Runs a turn or a command that Ctrl-C can cancel; one press that did so does not count towards quitting."""
        task = asyncio.ensure_future(step)
        self.interrupts.running = task
        try:
            await task
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            self._screen.say("Cancelled.")
        finally:
            self.interrupts.running = None
        if not self.interrupts.quitting:
            self.interrupts.presses = 0

    async def _turn(self, text: str) -> None:
        self._last = await self._host.turn(text, self._screen.show)
        self._screen.finish(self._last)

    async def _command(self, text: str) -> None:
        commands: dict[str, Callable[[], Awaitable[None]]] = {
            "/help": self._help,
            "/tools": self._tools,
            "/memory": self._memory,
            "/sessions": self._sessions,
            "/receipt": self._receipt,
        }
        name, _, told = text.partition(" ")
        if name == "/resume":
            self._resume(told.strip())
            return
        if name == "/mcp" and self._servers is not None:
            self._screen.say(self._servers(told.strip()))
            return
        command = commands.get(text)
        if command is None:
            raise UsageError(f"There is no command {text.split(maxsplit=1)[0][:40]}; /help lists them.")
        await command()

    async def _help(self) -> None:
        self._screen.say(table(COMMANDS))

    async def _tools(self) -> None:
        self._screen.say("\n".join(await self._host.tool_names()) or "No tool can be used now.")

    async def _memory(self) -> None:
        self._screen.say(memory_text(await self._host.memory()))

    async def _sessions(self) -> None:
        self._screen.say(sessions_text(self._host.sessions(SHOWN_SESSIONS)))

    def _resume(self, told: str) -> None:
        """Goes on with a session of the list; without a name it shows the list."""
        if not told:
            self._screen.say(f"{sessions_text(self._host.sessions(SHOWN_SESSIONS))}\nType /resume and a number.")
            return
        session = chosen(self._host.sessions(-1), told)
        self._host.resume(session.session_id)
        self._screen.say(resumed_text(session))

    async def _receipt(self) -> None:
        if self._last is None:
            raise UsageError("There is no receipt yet; say something first.")
        status = self._last.status
        self._screen.say(status.entry.line if status.entry else receipt_line(self._last.receipt, status))


def _is_being_cancelled() -> bool:
    """Tells whether this very task is being cancelled, and not only what it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
