"""What happened in a turn, a trace line at a time, as lines for a person. Pure; a trace may have been edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from agent_host.receipts.line import dollars
from agent_host.tracing.reading import Row

Members: TypeAlias = Mapping[str, Any]

_REASON: Final = 120
_WORDS: Final = 200


def step_line(row: Row) -> str:
    """Returns one line about what a trace line tells; nothing for one that is no step."""
    step = _STEPS.get(row.kind)
    return "" if step is None else step(row.members)


def short(text: str, most: int) -> str:
    """Returns a text on one line, at most so many characters of it."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _model_call(members: Members) -> str:
    used = members.get("usage")
    usage = used if isinstance(used, dict) else {}
    tokens = f"{usage.get('in', '?')} in / {usage.get('out', '?')} out"
    return f"llm {members.get('kind', 'loop')}: {members.get('model')}, {tokens}, {_cost(members)}"


def _tool_call(members: Members) -> str:
    said = members.get("ok")
    ok = ("ok" if said else "failed") if isinstance(said, bool) else "ended"
    price = f", {_cost(members)}" if members.get("cost_micro_usd") is not None else ""
    why = f": {short(str(members['error']), _REASON)}" if members.get("error") else ""
    return f"tool {members.get('tool')}: {ok}, {members.get('duration_ms', '?')} ms{price}{why}"


def _gate(members: Members) -> str:
    return f"gate: {members.get('decision')}, {short(str(members.get('reason', '')), _REASON)}"


def _permission(members: Members) -> str:
    """Returns who decided on a call; nothing for one that was granted without a question."""
    granted, answer = members.get("granted"), members.get("answer")
    if granted and not answer:
        return ""
    word = "granted" if granted else "refused"
    return f"permission {members.get('tool')}: {word}, reason {members.get('reason')}, answer {answer or 'not asked'}"


def _slots(members: Members) -> str:
    verdicts = _objects(members, "verdicts")
    return f"slots: {sum(one.get('kept') is True for one in verdicts)} of {len(verdicts)} kept"


def _used(members: Members) -> str:
    return f"used: {len(_objects(members, 'entries'))} from memory"


def _skills(members: Members) -> str:
    names = members.get("names")
    told = ", ".join(map(str, names)) if isinstance(names, list) else ""
    return f"skills: {short(told, _WORDS)}"


def _report(members: Members) -> str:
    return f"report: {short(str(members.get('title', '')), _WORDS)}"


def _notice(members: Members) -> str:
    return f"notice: {short(str(members.get('text', '')), _WORDS)}"


def _consolidation(members: Members) -> str:
    return f"consolidation: {members.get('new_facts', '?')} new facts"


def _score(members: Members) -> str:
    source, name, value, note = (members.get(part) for part in ("source", "name", "value", "note"))
    return f"score by {source}: {name} {value}, {short(str(note), _WORDS)}"


def _objects(members: Members, name: str) -> list[Members]:
    found = members.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _cost(members: Members) -> str:
    cost = members.get("cost_micro_usd")
    return dollars(cost) if isinstance(cost, int) else "no price known"


_STEPS: Final[Mapping[str, Callable[[Members], str]]] = {
    "llm": _model_call,
    "tool": _tool_call,
    "gate": _gate,
    "permission": _permission,
    "slots": _slots,
    "used": _used,
    "skills": _skills,
    "report": _report,
    "notice": _notice,
    "consolidation": _consolidation,
    "score": _score,
}
