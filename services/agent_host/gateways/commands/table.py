"""The table of slash commands; `/help`, the completion and docs/how-to/terminal.md all follow it."""

from __future__ import annotations

import difflib
from typing import Final

from agent_host.errors import UsageError
from agent_host.gateways.commands import looking, models, receipts, reviewing, sessions
from agent_host.gateways.commands.command import Answer, Choice, Command, Desk

_LEAVING: Final = frozenset({"quit", "exit", "/exit"})


async def _help(_: Desk, told: str) -> Answer:
    """Answers `/help` and `/help NAME`."""
    if not told:
        return Answer(rows=[(one.usage, one.help) for one in COMMANDS], after=KEYS)
    one = _named(f"/{told.removeprefix('/')}")
    return Answer(rows=[(one.usage, one.help)])


async def _quit(_: Desk, __: str) -> Answer:
    return Answer(leaves=True)


def _command_names(_: Desk, __: str) -> list[Choice]:
    return [Choice(one.name.removeprefix("/"), one.help) for one in COMMANDS]


KEYS: Final = (
    "Enter sends; Alt-Enter or a backslash at the end of the line begins a new line; Ctrl-C cancels a turn or what was "
    "typed, and leaves at an empty prompt; the arrow keys and Ctrl-R look through what you typed before."
)
COMMANDS: Final = (
    Command("/help", "[COMMAND]", "what can be typed here", _help, _command_names),
    Command("/memory", "", "what was remembered last, and what waits to be", looking.memory),
    Command("/tools", "[WORD]", "the tools of every connected server, or those with the word", looking.tools),
    Command(
        "/mcp",
        "[diff NAME | accept NAME]",
        "the tool servers; diff shows what one of them changed, accept takes it",
        looking.servers,
        looking.server_choices,
    ),
    Command("/skills", "", "the instructions that join the prompt of messages they are about", looking.skills),
    Command(
        "/sessions",
        "[WORDS]",
        "the conversations of this home, newest first, or what was said with the words in it",
        sessions.listed,
    ),
    Command(
        "/resume",
        "[N | ID]",
        "go on with conversation N of that list, or with the one of an id",
        sessions.resumed,
        sessions.session_choices,
    ),
    Command(
        "/receipt",
        "[N | TURN]",
        "the receipt of the last turn, or of another, as a table",
        receipts.shown,
        receipts.receipt_choices,
    ),
    Command("/cost", "[today | 7d | all]", "what models cost, here and in the window", models.cost, models.windows),
    Command(
        "/model",
        "[NAME]",
        "who answers and for what price; a name has that model answer in this conversation",
        models.model,
        models.model_choices,
    ),
    Command(
        "/review",
        "[VERDICT CALL …]",
        "the decisions that wait for a person; accept or reject one with a comment, or amend it with JSON",
        reviewing.review,
        reviewing.review_choices,
    ),
    Command("/export", "[FILE]", "write this conversation as Markdown to a new file", sessions.exported),
    Command("/quit", "", "leave; Ctrl-D, and Ctrl-C at an empty prompt, do the same", _quit),
)


def is_command(text: str) -> bool:
    """Tells whether a message is a command, and not for the agent."""
    return text.startswith("/") or text.lower() in _LEAVING


async def run_command(desk: Desk, text: str) -> Answer:
    """Runs the command in a message.

    Raises:
        UsageError: there is no such command, or it cannot take what follows its name.
        HostError, ServiceError, OSError: it could not be done.
    """
    if text.lower() in _LEAVING:
        return Answer(leaves=True)
    name, told = (*text.split(maxsplit=1), "")[:2]
    command = _named(name)
    if told.strip() and not command.arguments:
        raise UsageError(f"{command.name} takes nothing after it; type {command.name} alone.")
    return await command.run(desk, told.strip())


def _named(name: str) -> Command:
    found = next((one for one in COMMANDS if one.name == name.lower()), None)
    if found is not None:
        return found
    close = difflib.get_close_matches(name.lower(), [one.name for one in COMMANDS], n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    raise UsageError(f"There is no command {name[:40]}; {meant}/help lists them.")
