"""The commands about finished turns: `agent-host turns [TURN]` and `agent-host judge TURN`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from agent_host.command_parts import HomeOption, JsonOption, run_command, settings_of
from agent_host.errors import UsageError

finished = typer.Typer(add_completion=False)


@finished.command()
def turns(
    turn: Annotated[str | None, typer.Argument(help="A turn's id (t_…), to see it whole.")] = None,
    home: HomeOption = None,
    window: Annotated[str, typer.Option("--window", help="today, 7d or all, in days of your time zone.")] = "7d",
    as_json: JsonOption = False,
) -> int:
    """Look back at turns: five checks of each, their rates, and one turn step by step."""
    from agent_host.gateways import turns as gateway

    settings = settings_of(home)
    if turn is not None:
        return gateway.turn(settings, turn, as_json=as_json)
    return gateway.turns(settings, window, as_json=as_json)


@finished.command()
def judge(
    turn: Annotated[str, typer.Argument(help="The id of a finished turn (t_…).")],
    home: HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask about the estimate.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Ask the model for its marks of one turn; says first about what that costs."""
    from agent_host.gateways.judge import judge_turn

    def agreed(estimate: str) -> bool:
        typer.echo(estimate, err=True)
        if yes:
            return True
        if not sys.stdin.isatty():
            raise UsageError("Nobody can be asked here; give --yes to judge at that price.")
        return typer.confirm("Go on?", err=True)

    settings = settings_of(home)
    return run_command(lambda: judge_turn(settings, os.environ, turn, agreed=agreed, as_json=as_json))
