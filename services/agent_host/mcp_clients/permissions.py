"""May a tool be called now? Pure: what the person said in `mcp.json`, else what the tool is and what the turn has read.

The most particular word wins: of the tool, of its server, an `always` once answered, then the defaults. By default a
tool that changes nothing is allowed, as are the writes of this product's own stores; other writes are asked about. Once
other people's words have entered a turn, every write that nobody has spoken about is asked about, as those words may be
what asks for it (agent.md 4.18; mcp-ecosystem, section 6). They cannot be what asks for a call of the host's own, such
as saving the report that the person wanted: into an own store it is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from agent_host.mcp_clients.naming import plain_name

Word: TypeAlias = Literal["allow", "ask", "deny"]
Reason: TypeAlias = Literal["tool", "server", "always", "read_only", "own_store", "write", "untrusted", "by_host"]

WORDS: Final = get_args(Word)
EVERY_TOOL: Final = "*"
OWN_STORES: Final = frozenset({"memory", "calendar", "notes", "messages", "reports"})
"""The built-in servers whose writes end in a store of this home and nowhere else."""
_OTHERS_WORDS: Final = frozenset({"search"})
"""The built-in server whose every answer was written by strangers."""


def word_for(said: Mapping[str, Word], server: str, tool: str) -> Word | None:
    """Returns what a person said of a very tool, by its own name.

    A word that forbids counts by the name that a model calls the tool by as well: it must not be lost by how `/tools`
    shows a name. One that allows does not, as another tool may really be called that.
    """
    word = said.get(plain_name(server, tool))
    return said.get(tool) or (word if word != "allow" else None)


def rules_for_nothing(said: Mapping[str, Word], server: str, tools: Iterable[str]) -> Iterator[str]:
    """Yields a sentence for each rule that is about none of a server's tools."""
    known = {plain_name(server, tool): tool for tool in tools}
    names = set(known.values())
    for name, word in said.items():
        if name == EVERY_TOOL or name in names or (name in known and word != "allow"):
            continue
        meant = known.get(name) or next(iter(get_close_matches(name, names, n=1)), None)
        advice = f"did you mean {meant!r}?" if meant else "take it out, or correct its name."
        yield f"mcp.json has a rule for {name!r} of {server!r}, which has no such tool; {advice}"


@dataclass(frozen=True)
class Subject:
    """The tool in question; `server` and `tool` as on the wire, `said` what `mcp.json` has about its server."""

    server: str
    tool: str
    builtin: bool
    read_only: bool
    destructive: bool
    said: Mapping[str, Word]
    always: bool = False


def permission(subject: Subject, *, after_untrusted: bool, by_host: bool = False) -> tuple[Word, Reason]:
    """Returns what holds for one call, and why; `by_host`: no model asked for it."""
    if (word := word_for(subject.said, subject.server, subject.tool)) is not None:
        return word, "tool"
    word = subject.said.get(EVERY_TOOL)
    if word is not None and not (word == "ask" and subject.always):
        return word, "server"
    if subject.always:
        return "allow", "always"
    return _by_default(subject, after_untrusted=after_untrusted, by_host=by_host)


def _by_default(subject: Subject, *, after_untrusted: bool, by_host: bool) -> tuple[Word, Reason]:
    if subject.read_only:
        return "allow", "read_only"
    is_own = subject.builtin and subject.server in OWN_STORES
    if after_untrusted and not (is_own and by_host):
        return "ask", "untrusted"
    if is_own:
        return "allow", "by_host" if by_host else "own_store"
    return "ask", "write"


def brings_others_words(server: str, structured: object, *, builtin: bool) -> bool:
    """Tells whether an answer holds words of somebody whom neither the person nor this product speaks for."""
    if not builtin or server in _OTHERS_WORDS:
        return True
    return _is_marked(structured)


def _is_marked(value: object) -> bool:
    """Looks for `"untrusted": true` at any depth; without recursion, as the depth is a server's choice."""
    waiting: list[object] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            if one.get("untrusted") is True:
                return True
            waiting += cast("Mapping[str, Any]", one).values()
        elif isinstance(one, Sequence) and not isinstance(one, str | bytes):
            waiting += one
    return False
