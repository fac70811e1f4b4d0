import pytest

from agent_host.providers.offline.web.intents import research, search_web
from agent_host.providers.offline.web.requests import Research, SearchWeb


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Search the web for rust async runtimes", "rust async runtimes"),
        ("search online for cats", "cats"),
        ("search for cats on the web", "cats"),
        ("google the best pizza?", "the best pizza"),
        ("look up “mem0 pricing”", "mem0 pricing"),
        ("do a web search on cats", "cats"),
        ("web search: cats", "cats"),
        ("find articles about cats", "cats"),
        ("find cat food online", "cat food"),
        ("what's the latest news about cats?", "cats news"),
        ("news on cats", "cats news"),
        ("search", ""),
    ],
)
def test_a_search_is_for_what_follows(text: str, query: str) -> None:
    assert search_web(text) == SearchWeb(query)


@pytest.mark.parametrize("text", ["what's new", "I searched the web", "find my keys", "the web", "looking up"])
def test_other_sentences_search_nothing(text: str) -> None:
    assert search_web(text) is None


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Research the competitors of mem0", "the competitors of mem0"),
        ("do some research on vector databases", "vector databases"),
        ("research: cats", "cats"),
        ("look into cats.", "cats"),
        ("find out more about cats", "cats"),
        ("write a report on cats", "cats"),
    ],
)
def test_research_is_on_what_follows(text: str, subject: str) -> None:
    assert research(text) == Research(subject)


@pytest.mark.parametrize("text", ["research", "researchers say no", "my research on cats", "look"])
def test_other_sentences_are_no_research(text: str) -> None:
    assert research(text) is None
