"""`/sessions`, `/resume` and `/export`: the conversations of this home."""

from __future__ import annotations

import os
import re
from pathlib import Path

from agent_host.errors import UsageError
from agent_host.gateways.commands.command import Answer, Choice, Desk
from agent_host.gateways.exporting import conversation_markdown
from agent_host.gateways.overview import (
    SHOWN_SESSIONS,
    chosen,
    day_and_time,
    found_text,
    recap,
    resumed_text,
    sessions_text,
)

_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_NAME_CHARACTERS = 40


async def listed(desk: Desk, words: str) -> Answer:
    """Lists the sessions, or what was said with every one of the words in it."""
    if words:
        return Answer(found_text(desk.host.search(words, SHOWN_SESSIONS), desk.settings.zone()))
    return Answer(_list(desk))


async def resumed(desk: Desk, told: str) -> Answer:
    """Goes on with a session; without a name it lists them."""
    if not told:
        return Answer(f"{_list(desk)}\nType /resume and a number.")
    session = chosen(desk.host.sessions(-1), told)
    desk.host.resume(session.session_id)
    return Answer(resumed_text(session) + recap(desk.host.said(session.session_id)))


def session_choices(desk: Desk, _: str) -> list[Choice]:
    """Offers the numbers of the list, each with its time and title."""
    sessions, zone = desk.host.sessions(SHOWN_SESSIONS), desk.settings.zone()
    return [
        Choice(str(number), f"{day_and_time(one.last_at_ms, zone)} {one.title}")
        for number, one in enumerate(sessions, start=1)
    ]


async def exported(desk: Desk, told: str) -> Answer:
    """Writes this conversation to a new file, readable by its owner alone; a file that is there stays as it is.

    Raises:
        UsageError: nothing was said yet, there is such a file, or it cannot be written.
    """
    session_id = desk.host.session_id
    rows = desk.host.said(session_id)
    if not rows:
        raise UsageError("Nothing was said in this conversation yet, so that there is nothing to export.")
    path = _target(told, rows[0][1])
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(conversation_markdown(session_id, rows))
    except FileExistsError:
        raise UsageError(f"{path} is there already and stays as it is; name another file.") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "the name is not possible").lower()
        raise UsageError(f"{path} cannot be written ({reason}); name another file.") from error
    return Answer(f"Written to {path}.")


def _list(desk: Desk) -> str:
    return sessions_text(desk.host.sessions(SHOWN_SESSIONS), desk.settings.zone())


def _target(told: str, first_message: str) -> Path:
    """Returns the file that was named, a folder's new file, or one in this folder named after the first message."""
    words = _NOT_IN_A_NAME.sub("-", first_message[: 4 * _NAME_CHARACTERS].lower()).strip("-")
    name = f"conversation-{words[:_NAME_CHARACTERS].strip('-') or 'untitled'}.md"
    if not told:
        return Path.cwd() / name
    try:
        path = Path.cwd() / Path(told).expanduser()
        return path / name if path.is_dir() else path
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"{told[:100]!r} is no file that can be written; name another.") from error
