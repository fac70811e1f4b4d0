"""A conversation over any reader and screen: messages, slash commands, Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from agent_host.errors import HostError
from agent_host.gateways.commands.command import Desk
from agent_host.gateways.commands.table import is_command, run_command
from agent_host.gateways.message import accept_message
from agent_host.gateways.plain_screen import CANCELLED
from agent_host.gateways.readers import PromptInterruptedError, Reader
from agent_host.gateways.screen import Screen
from service_runtime.errors import ServiceError


class _Interrupts:
    """Ctrl-C: cancels what runs; a second press meanwhile leaves, and so does one while nothing runs.

    `stop` leaves at once.
    """

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


async def converse(desk: Desk, reader: Reader, screen: Screen) -> bool:
    """Talks until the end of input, `/quit`, or Ctrl-C. Bad input costs one sentence, never the conversation.

    Returns False when SIGTERM or SIGHUP ended it; a turn that ran then is receipted as cancelled first.
    """
    talk = _Conversation(desk, reader, screen)
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
    def __init__(self, desk: Desk, reader: Reader, screen: Screen) -> None:
        self._desk = desk
        self._reader = reader
        self._screen = screen
        self._is_over = False
        self.interrupts = _Interrupts()

    async def run(self) -> None:
        while not (self._is_over or self.interrupts.quitting):
            raw = await self._next_message()
            if raw is None:
                return
            try:
                text = accept_message(raw)
                await self._cancellable(self._command(text) if is_command(text) else self._turn(text))
            except (HostError, ServiceError) as error:
                self._screen.say(str(error))
            except OSError as error:
                self._screen.say(f"That was not possible ({error.strerror or error}); mend it and try again.")

    async def _next_message(self) -> str | bytes | None:
        """Reads a message; None at the end of input, and after Ctrl-C, as nothing is lost by leaving."""
        reading = asyncio.ensure_future(self._reader.read())
        self.interrupts.running = reading
        try:
            return await reading
        except PromptInterruptedError:
            return None
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            return None
        finally:
            self.interrupts.running = None

    async def _cancellable(self, step: Coroutine[Any, Any, None]) -> None:
        """Runs a turn or a command that Ctrl-C can cancel; one press that did so does not count towards leaving."""
        task = asyncio.ensure_future(step)
        self.interrupts.running = task
        try:
            await task
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            self._screen.say(CANCELLED)
        finally:
            self.interrupts.running = None
        if not self.interrupts.quitting:
            self.interrupts.presses = 0

    async def _turn(self, text: str) -> None:
        with self._screen.working():
            result = await self._desk.host.turn(text, self._screen.show)
        self._desk.turns.append(result)
        self._screen.finish(result)

    async def _command(self, text: str) -> None:
        with self._screen.working("working"):
            answer = await run_command(self._desk, text)
        if answer.text:
            self._screen.say(answer.text)
        if answer.rows:
            self._screen.table(answer.rows)
        if answer.after:
            self._screen.say(answer.after)
        self._is_over = answer.leaves


def _is_being_cancelled() -> bool:
    """Tells whether this very task is being cancelled, and not only what it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
