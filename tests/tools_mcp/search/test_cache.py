import pytest

from tools_mcp.search.cache import Cache


@pytest.fixture
def ticks() -> list[float]:
    return [0.0]


@pytest.fixture
def cache(ticks: list[float]) -> Cache[str]:
    return Cache(10, most_entries=3, most_weight=10, weigh=len, clock=lambda: ticks[0])


def test_a_value_is_there_until_it_is_too_old(cache: Cache[str], ticks: list[float]) -> None:
    cache.put("a", "one")
    seen = []
    for ticks[0] in (0, 9.9, 10):
        seen.append(cache.get("a"))

    assert seen == ["one", "one", None]
    assert cache.get("b") is None


def test_the_oldest_leaves_when_there_are_too_many_or_they_weigh_too_much(cache: Cache[str]) -> None:
    for key in "abcd":
        cache.put(key, key)
    cache.put("heavy", "123456789")

    assert [cache.get(key) for key in ("a", "b", "c", "d", "heavy")] == [None, None, None, "d", "123456789"]


def test_what_weighs_more_than_all_may_is_not_kept_and_what_it_replaces_leaves(cache: Cache[str]) -> None:
    cache.put("a", "one")
    cache.put("a", "x" * 11)

    assert cache.get("a") is None
    cache.put("b", "0123456789")
    assert cache.get("b") == "0123456789"
