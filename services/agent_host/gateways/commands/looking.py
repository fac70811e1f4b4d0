"""`/memory`, `/tools`, `/mcp` and `/skills`: what the agent has to work with."""

from __future__ import annotations

from agent_host.app import skill_folder
from agent_host.gateways.commands.command import Answer, Choice, Desk
from agent_host.gateways.overview import memory_text


async def memory(desk: Desk, _: str) -> Answer:
    """Says what was remembered last, and how much waits to be consolidated (agent.md row 14)."""
    return Answer(memory_text(await desk.host.memory()))


async def tools(desk: Desk, word: str) -> Answer:
    """Lists the tools that can be used now, or those in whose name or description the word stands."""
    found = [row for row in await desk.host.tools() if word.casefold() in " ".join(row).casefold()]
    if found:
        return Answer(rows=found)
    return Answer(f"No tool has {word[:40]!r} in it." if word else "No tool can be used now.")


async def servers(desk: Desk, told: str) -> Answer:
    """Lists the tool servers, or accepts what one of them changed."""
    from agent_host.gateways import mcp

    return Answer(mcp.command(desk.settings, desk.environ, told))


def server_choices(desk: Desk, _: str) -> list[Choice]:
    """Offers the list, and the servers that changed something."""
    from agent_host.gateways import mcp

    waiting = mcp.changed(desk.settings, desk.environ)
    verbs = ("diff", "accept")
    return [Choice("list"), *(Choice(f"{verb} {name}", change) for name, change in waiting for verb in verbs)]


async def skills(desk: Desk, _: str) -> Answer:
    """Lists the skills that can be used, and says of each file that is none what is wrong with it."""
    folder = skill_folder(desk.settings)
    rows = [(one.name, one.description) for one in folder.skills()]
    return Answer("" if rows else "There is no skill.", rows, "\n".join(folder.problems()))
