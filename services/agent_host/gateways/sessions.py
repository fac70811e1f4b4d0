"""`agent-host sessions`: the conversations of a home, while a host may be talking in one of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from agent_host.chat_log import ChatLog
from agent_host.gateways.overview import chosen, found_text, sessions_text
from agent_host.gateways.plain_screen import PlainScreen
from agent_host.tool_note import without_notes
from service_runtime.settings import Settings


def list_sessions(settings: Settings, *, limit: int, as_json: bool) -> int:
    """Prints the sessions, the one talked in last first.

    Raises:
        ConfigurationError: the log cannot be opened.
    """
    with _log(settings) as log:
        found = log.sessions(limit)
    if as_json:
        return _print([asdict(one) for one in found])
    return _say(sessions_text(found, settings.zone()))


def search_sessions(settings: Settings, words: str, *, limit: int, as_json: bool) -> int:
    """Prints the rows that hold every word, newest first; returns 1 when there are none.

    Raises:
        ConfigurationError: the log cannot be opened.
    """
    with _log(settings) as log:
        found = log.search(words, limit)
    if as_json:
        _print([asdict(one) for one in found])
    else:
        _say(found_text(found, settings.zone()))
    return 0 if found else 1


def show_session(settings: Settings, told: str, *, as_json: bool) -> int:
    """Prints one session whole, without the notes about tools.

    Raises:
        UsageError: there is no such session.
        ConfigurationError: the log cannot be opened.
    """
    with _log(settings) as log:
        session = chosen(log.sessions(-1), told)
        rows = [(role, without_notes(content)) for role, content in log.rows(session.session_id)]
    if as_json:
        return _print({**asdict(session), "rows": [{"role": role, "content": content} for role, content in rows]})
    marks = {"user": "you > ", "assistant": ""}
    return _say("\n".join(f"{marks[role]}{content}" for role, content in rows))


@contextmanager
def _log(settings: Settings) -> Iterator[ChatLog]:
    folder = settings.home.folder("host", for_reading=True)
    log = ChatLog(folder / "sessions.db", for_reading=not os.access(folder, os.W_OK))
    try:
        yield log
    finally:
        log.close()


def _say(text: str) -> int:
    PlainScreen(sys.stdout, live=False).say(text)
    return 0


def _print(document: object) -> int:
    sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    return 0
