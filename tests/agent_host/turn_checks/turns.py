"""Turns for the checks, made of trace lines as the host writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agent_host.tracing.reading import Row
from agent_host.tracing.traced_turn import TracedTurn, traced_turns

AT = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
MARKER = "<!-- prometheus-report v1 -->"


def tool(name: str = "market_find", output: Any = "", **members: Any) -> dict[str, Any]:
    """One tool line; an output that is no text is written as JSON."""
    text = output if isinstance(output, str) else json.dumps(output)
    server = name.partition("_")[0]
    source = "memory" if server == "memory" else f"mcp:{server}"
    return {"type": "tool", "tool": name, "source": source, "span": "tool", "ok": True, "output": text, **members}


def failing(name: str = "market_find", **members: Any) -> dict[str, Any]:
    """One tool line of a call that failed."""
    return tool(name, "no such thing", ok=False, error="no such thing", **members)


def memory_search(*texts: str) -> dict[str, Any]:
    """One search of memory and what it found."""
    found = [{"id": f"mem_{at}", "snippet": text} for at, text in enumerate(texts)]
    return tool("memory_search", {"entries": found}, span="retrieval", results=len(found))


def saved_report(*, deduped: bool = False) -> dict[str, Any]:
    """One call that stored a report as a memory."""
    answer = json.dumps({"memory": {"id": "mem_r"}, "deduped": deduped}, separators=(",", ":"))
    return tool("memory_remember", answer, span="memory_write", args={"body": f"{MARKER}\n# Zep"})


def llm(cost_micro_usd: int | None = 0, provider: str = "anthropic") -> dict[str, Any]:
    """One model call."""
    return {"type": "llm", "kind": "loop", "provider": provider, "cost_micro_usd": cost_micro_usd}


SKILL: Mapping[str, Any] = {"type": "skills", "names": ["research-report"]}


def turn(
    reply: str | None, *rows: Mapping[str, Any], message: str = "hello", version: int = 2, outcome: str = "replied"
) -> TracedTurn:
    """A turn of these lines; without a reply it has not ended."""
    lines: list[Mapping[str, Any]] = [{"type": "turn_start", "user_message": message}, *rows]
    if reply is not None:
        lines.append({"type": "turn_end", "reply": reply, "outcome": outcome})
    made = [Row(str(one["type"]), "t_1", version, AT, one, json.dumps(one).encode() + b"\n") for one in lines]
    (found,) = traced_turns(made)
    return found
