"""Completion of slash commands and of what follows them, out of the table of commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agent_host.errors import HostError
from agent_host.gateways.commands.command import Choice, Command, Desk
from agent_host.gateways.screen import one_line, printable
from service_runtime.errors import ServiceError

_SHOWN = 60
_MOST = 50


class SlashCompleter(Completer):
    """Offers command names to a line that begins with `/`, and then what the command takes."""

    def __init__(self, commands: Iterable[Command], desk: Desk) -> None:
        self._commands = tuple(commands)
        self._desk = desk

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yields what can stand at the cursor; nothing when what it would be read from cannot be read."""
        del complete_event
        line = document.text_before_cursor
        if not line.startswith("/") or "\n" in line:
            return
        name, space, told = line.partition(" ")
        for choice in choices(self._commands, self._desk, line)[:_MOST]:
            typed = told if space else name
            yield Completion(
                choice.text,
                start_position=-len(typed),
                display=one_line(choice.text, _SHOWN),
                display_meta=one_line(choice.about, _SHOWN),
            )


def choices(commands: Iterable[Command], desk: Desk, line: str) -> list[Choice]:
    """Returns what a line that begins with `/` can become: the whole of its name, or of what follows the name."""
    name, space, told = line.partition(" ")
    if not space:
        return [Choice(one.name, one.help) for one in commands if one.name.startswith(name.lower())]
    command = next((one for one in commands if one.name == name.lower()), None)
    if command is None or command.choices is None:
        return []
    try:
        found = command.choices(desk, told)
    except (HostError, ServiceError, OSError):
        return []
    return [one for one in found if one.text.startswith(told) and one.text == printable(one.text)]
