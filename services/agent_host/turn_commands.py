"""The command about finished turns: `agent-host turns [TURN]`."""

from __future__ import annotations

from typing import Annotated

import typer

from agent_host.command_parts import HomeOption, JsonOption, settings_of

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
