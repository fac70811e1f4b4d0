"""The commands about conversations: `agent-host sessions list|search|show`, and how `chat --resume` is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from agent_host.command_parts import HomeOption, JsonOption, settings_of
from agent_host.errors import UsageError

sessions = typer.Typer(help="The conversations of this home.", no_args_is_help=True, add_completion=False)

RESUME = "--resume"
SessionArgument = Annotated[str, typer.Argument(help="A session's number in `sessions list`, or its id (s_…).")]
LimitOption = Annotated[int, typer.Option(min=1, help="At most so many, newest first.")]


def with_optional_value(arguments: Sequence[str]) -> list[str]:
    """Returns a command line where a bare `--resume` has an empty value: the parser knows no optional ones."""
    following = (*arguments[1:], "-")
    return [
        f"{RESUME}=" if one == RESUME and after.startswith("-") else one
        for one, after in zip(arguments, following, strict=False)
    ]


def named_session(resume: str | None, *, latest: bool) -> str | None:
    """Returns which session a command line goes on with, None for a new one.

    Raises:
        UsageError: it names two.
    """
    if latest and resume is not None:
        raise UsageError("--continue and --resume both say which session goes on; give one of them.")
    return "1" if latest else resume


@sessions.command("list")
def sessions_list(home: HomeOption = None, limit: LimitOption = 20, as_json: JsonOption = False) -> int:
    """List the conversations, the one talked in last first."""
    from agent_host.gateways.sessions import list_sessions

    return list_sessions(settings_of(home), limit=limit, as_json=as_json)


@sessions.command("search")
def sessions_search(
    words: Annotated[list[str], typer.Argument(help="Words that were said; a row must hold every one.")],
    home: HomeOption = None,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> int:
    """Find what was said, in any conversation."""
    from agent_host.gateways.sessions import search_sessions

    return search_sessions(settings_of(home), " ".join(words), limit=limit, as_json=as_json)


@sessions.command("show")
def sessions_show(session: SessionArgument, home: HomeOption = None, as_json: JsonOption = False) -> int:
    """Show one conversation whole."""
    from agent_host.gateways.sessions import show_session

    return show_session(settings_of(home), session, as_json=as_json)
