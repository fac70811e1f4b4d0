"""A person at a terminal: line editing, messages of several lines, history and completion."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from agent_host.gateways.readers import PromptInterruptedError
from agent_host.gateways.terminal.history import HistoryFile

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent

_CONTINUED: Final = "    > "
_MENU_ROWS: Final = 6


class PromptReader:
    """Reads messages; Enter sends, Alt-Enter or a backslash at the end begins a new line, a paste is one message.

    `on_ready` is called once, when the first prompt stands on the screen: what takes time starts behind it.
    """

    def __init__(
        self,
        prompt: str,
        on_ready: Callable[[], object],
        history: HistoryFile | None = None,
        completer: Completer | None = None,
    ) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.filters import Condition

        self._session: PromptSession[str] = PromptSession(
            history=None if history is None else history.for_prompt(),
            completer=completer,
            complete_while_typing=Condition(self._is_command),
            complete_in_thread=False,
            reserve_space_for_menu=_MENU_ROWS,
            multiline=True,
            enable_suspend=True,
            prompt_continuation=lambda width, _line, _wraps: _CONTINUED[-width:],
            key_bindings=_keys(),
        )
        self._prompt = prompt
        self._on_ready: Callable[[], object] | None = on_ready

    async def read(self) -> str | bytes | None:
        """Returns what the person typed; None for Ctrl-D.

        Raises:
            PromptInterruptedError: the person pressed Ctrl-C and had typed nothing.
        """
        if self._on_ready is not None:  # the loop comes to it when the prompt waits for its first key
            asyncio.get_running_loop().call_soon(self._on_ready)
            self._on_ready = None
        try:
            return await self._session.prompt_async(self._prompt, handle_sigint=False)
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise PromptInterruptedError from None

    def _is_command(self) -> bool:
        return self._session.default_buffer.text.startswith("/")


async def read_answer(prompt: str) -> str | None:
    """Asks a person at a terminal for one line; None for Ctrl-C and Ctrl-D. Answers are not kept in the history.

    What was typed before the question stood there answers nothing: it stands at the next prompt for a message.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead

    session: PromptSession[str] = PromptSession()
    early = _typed_so_far(session.input)
    try:
        return await session.prompt_async(prompt, handle_sigint=False)
    except (EOFError, KeyboardInterrupt):
        return None
    finally:
        store_typeahead(session.input, [*early, *get_typeahead(session.input)])


def _typed_so_far(keyboard: Input) -> list[KeyPress]:
    """Takes all keys that were pressed and that no prompt has seen."""
    from prompt_toolkit.input.typeahead import get_typeahead

    keys = get_typeahead(keyboard)
    with keyboard.raw_mode():  # a terminal gives out an unfinished line only then
        while read := keyboard.read_keys():
            keys += read
    return [*keys, *keyboard.flush_keys()]


def _keys() -> KeyBindings:
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    @keys.add("c-j")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text.endswith("\\") and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("escape", "c-j")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c", filter=~is_searching)  # there it ends the search, as everywhere
    def _cancel(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()  # what was typed goes, and nothing else happens
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    return keys
