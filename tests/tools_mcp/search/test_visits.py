from datetime import UTC, datetime, timedelta

from tools_mcp.search.visits import Visits

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def test_each_address_is_there_once_the_newest_first() -> None:
    visits = Visits()
    for number, name in enumerate("aba"):
        visits.add(f"https://{name}.org/", f"https://{name}.org/", name, NOW + timedelta(seconds=number))

    assert [(visit.title, visit.at.second) for visit in visits.newest()] == [("a", 2), ("b", 1)]
    assert len({visit.id for visit in visits.newest()}) == 2
    assert Visits().add("https://a.org/", "", "", NOW).id == visits.newest()[0].id


def test_only_the_last_ones_are_kept() -> None:
    visits = Visits(most=3)
    for number in range(5):
        visits.add(f"https://{number}.org/", "", str(number), NOW)

    assert [visit.title for visit in visits.newest()] == ["4", "3", "2"]
