from dataclasses import replace

import pytest

from agent_host.providers.offline.questions import WHAT_TO_SEARCH
from agent_host.providers.offline.routine import Outcome
from agent_host.providers.offline.web.requests import Research, SearchWeb
from tests.agent_host.providers.offline.scenes import SCENE, failed, perform

RESULT = {
    "title": "Cats",
    "url": "https://example.org/cats",
    "snippet": "All about\ncats. " * 40,
    "published": "2026-11-01T00:00:00Z",
    "provider": "ddgs",
}


def test_results_are_listed_with_address_date_and_a_short_snippet() -> None:
    reply, (call,) = perform(SearchWeb("cats"), {"search_web": {"status": "ok", "results": [RESULT] * 9}})
    assert call.arguments == {"query": "cats", "max_results": 5}
    lines = reply.splitlines()
    assert lines[0] == "Found on the web via ddgs for “cats”:"
    assert lines[1].startswith("- Cats (2026-11-01): All about cats.")
    assert lines[2] == "  https://example.org/cats"
    assert len(lines) == 11


@pytest.mark.parametrize("query", ["", "the", "?"])
def test_a_search_for_nothing_is_asked_for(query: str) -> None:
    assert perform(SearchWeb(query), {}) == (WHAT_TO_SEARCH, [])


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "ok", "results": []},
        {"status": "empty", "results": []},
        Outcome("empty: nothing there", None, is_error=True),
        Outcome('{"status": "empty"}', {"status": "empty"}, is_error=True),
    ],
)
def test_nothing_found_is_no_failure(answer: object) -> None:
    assert perform(SearchWeb("cats"), {"search_web": answer})[0] == "The web search for “cats” found nothing."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (failed("blocked: It took us for a robot."), "It took us for a robot."),
        (failed("The server is gone."), "The server is gone."),
        (Outcome("{}", {"status": "timed_out", "message": "Too slow."}, is_error=True), "Too slow."),
    ],
)
def test_a_search_that_fails_says_why_and_invents_nothing(answer: Outcome, reason: str) -> None:
    assert perform(SearchWeb("cats"), {"search_web": answer})[0] == f"I could not search the web: {reason}"
    research, _ = perform(Research("cats"), {"memory_search": {"entries": []}, "search_web": answer})
    assert f"I could not search the web: {reason}" in research


def test_research_names_the_source_of_each_line() -> None:
    known = {"entries": [{"id": "m", "snippet": "Cats sleep.", "created_at": "2026-11-20T08:00:00Z"}]}
    reply, calls = perform(
        Research("please compare my cats"), {"memory_search": known, "search_web": {"results": [RESULT]}}
    )
    assert [call.arguments["query"] for call in calls] == ["cats", "cats"]
    assert reply.splitlines()[0] == "On please compare your cats:"
    assert "From memory:\n- Cats sleep. (noted Friday 20 November)" in reply
    assert "From the web via ddgs:\n- Cats" in reply
    assert reply.endswith("draws no conclusions from it.")


def test_research_goes_on_without_memory_and_without_the_web() -> None:
    reply, _ = perform(Research("cats"), {"memory_search": failed("locked"), "search_web": {"results": [RESULT]}})
    assert "I could not look into my memory: locked" in reply
    assert "example.org" in reply
    scene = replace(SCENE, tools=frozenset({"memory_search"}))
    assert "No web search tool" in perform(Research("cats"), {"memory_search": {"entries": []}}, scene)[0]
    scene = replace(SCENE, tools=frozenset({"search_web"}))
    reply, calls = perform(Research("cats"), {"search_web": {"results": []}}, scene)
    assert [call.tool for call in calls] == ["search_web"]
    assert "From the web: nothing." in reply


def test_memories_that_are_hardly_about_the_subject_are_left_out() -> None:
    known = {"entries": [{"id": "m", "snippet": "Dogs bark."}]}
    reply, _ = perform(Research("black cats"), {"memory_search": known, "search_web": {"results": []}})
    assert "From memory: nothing." in reply
