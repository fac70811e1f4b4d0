"""Web search, and research: memory first, then the web, each line with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_host.providers.offline.memory.replies import line as memory_line
from agent_host.providers.offline.memory.replies import read_memories, split_by_fit
from agent_host.providers.offline.questions import WHAT_TO_SEARCH
from agent_host.providers.offline.results import failure, rows_of, text_of
from agent_host.providers.offline.routine import Call, Outcome, Routine, Scene
from agent_host.providers.offline.wording import bullets, clip, content_words, mirrored
from agent_host.providers.protocol import JsonValue

_RESULTS = 5
_MEMORIES = 6
_FITS = 0.5
_LONGEST_SNIPPET = 200
_NO_CONCLUSIONS = "I am no language model: this lists what was found and draws no conclusions from it."
_SEARCH = "search the web"
_STATUSES = ("ok", "empty", "blocked", "rate_limited", "timed_out", "failed")
_FILLER = frozenset(("research", "compare", "report", "please", "find", "look", "investigate", "study", "topic"))


def _result(row: Mapping[str, JsonValue]) -> str:
    url = text_of(row, "url", "link", "href")
    title = clip(text_of(row, "title"), 120) or url
    snippet = clip(text_of(row, "snippet", "body", "description"), _LONGEST_SNIPPET)
    published = text_of(row, "published", "date")[:10]
    dated = f" ({published})" if published else ""
    return f"{title}{dated}{f': {snippet}' if snippet else ''}\n  {url}"


def _status(outcome: Outcome) -> str:
    """Returns the search's own word for how it went, from the structured answer or from the start of its text."""
    said = text_of(outcome.data, "status") or outcome.content.partition(":")[0]
    return said if said in _STATUSES else ""


def _failed(outcome: Outcome) -> str:
    return failure(Outcome(outcome.content.removeprefix(f"{_status(outcome)}: "), outcome.data, is_error=True), _SEARCH)


def _results(outcome: Outcome) -> str:
    rows = rows_of(outcome, "results", "items")
    return bullets(_result(row) for row in rows[:_RESULTS])


def _provider(outcome: Outcome) -> str:
    rows = rows_of(outcome, "results", "items")
    name = text_of(outcome.data, "provider") or (text_of(rows[0], "provider") if rows else "")
    return f" via {name}" if name else ""


@dataclass(frozen=True)
class SearchWeb:
    """Search the web."""

    query: str

    def run(self, _scene: Scene) -> Routine:
        """Lists the results with their addresses."""
        if not content_words(self.query):
            return WHAT_TO_SEARCH
        (outcome,) = yield (Call("search_web", {"query": self.query, "max_results": _RESULTS}),)
        found = _results(outcome)
        if _status(outcome) == "empty" or not (found or outcome.is_error):
            return f"The web search for “{clip(self.query, 80)}” found nothing."
        if outcome.is_error:
            return _failed(outcome)
        return f"Found on the web{_provider(outcome)} for “{clip(self.query, 80)}”:\n{found}"


@dataclass(frozen=True)
class Research:
    """Put together what memory and the web have on a subject."""

    subject: str

    def run(self, scene: Scene) -> Routine:
        """Searches memory, then the web; either may be missing, and the reply says so."""
        words = [word for word in content_words(self.subject) if word.casefold() not in _FILLER]
        query = " ".join(words) or self.subject
        known, found = "", ""
        if "memory_search" in scene.tools:
            (remembered,) = yield (Call("memory_search", {"query": query, "scope": "all", "limit": _MEMORIES}),)
            known = _known(remembered, query, scene)
        if "search_web" in scene.tools:
            (searched,) = yield (Call("search_web", {"query": query, "max_results": _RESULTS}),)
            found = _found(searched)
        else:
            found = "No web search tool is connected, so this is from memory alone."
        subject = clip(mirrored(self.subject), 120)
        return "\n\n".join(filter(None, (f"On {subject}:", known, found, _NO_CONCLUSIONS)))


def _found(outcome: Outcome) -> str:
    results = _results(outcome)
    if results and not outcome.is_error:
        return f"From the web{_provider(outcome)}:\n{results}"
    failed = outcome.is_error and _status(outcome) != "empty"
    return _failed(outcome) if failed else "From the web: nothing."


def _known(outcome: Outcome, query: str, scene: Scene) -> str:
    if outcome.is_error:
        return failure(outcome, "look into my memory")
    fitting, _ = split_by_fit(read_memories(outcome, scene), query, _FITS)
    if not fitting:
        return "From memory: nothing."
    return f"From memory:\n{bullets(memory_line(memory, scene) for memory in fitting)}"
