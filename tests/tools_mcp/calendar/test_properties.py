"""Every argument of every calendar tool, with what people, models and attackers send (hypothesis)."""

import asyncio
import re
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.types import Tool

from tests.tools_mcp.calendar.samples import ALL
from tests.tools_mcp.running import call, here, text_of

INSIDE = re.compile(r"pydantic|Traceback|sqlite|SELECT|errors\.|/tmp|/home|\.py\b|icalendar|Error\b")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
times = st.one_of(
    st.dates().map(str),
    st.datetimes().map(lambda value: value.isoformat()),
    st.datetimes(timezones=st.timezones()).map(lambda value: value.isoformat()),
    st.sampled_from(
        ["2026-12-01", "2026-12-01T10:00", "2026-03-29T02:30", "2026-10-25T02:30:00+01:00", "24:00", "now"]
    ),
    texts,
)
durations = st.one_of(
    st.integers(-5, 10**9).map(str),
    st.timedeltas().map(str),
    st.sampled_from(["PT30M", "P1D", "P2W", "1h 30m", "0"]),
    texts,
)
rules = st.one_of(
    st.sampled_from(
        ["FREQ=DAILY", "FREQ=WEEKLY;COUNT=3", "RRULE:FREQ=MONTHLY;BYDAY=1TU", "FREQ=YEARLY;UNTIL=20301201", ""]
    ),
    st.lists(
        st.tuples(
            st.sampled_from(["FREQ", "COUNT", "UNTIL", "INTERVAL", "BYDAY", "BYMONTH", "BYSETPOS", "WKST", "X"]),
            st.sampled_from(
                ["DAILY", "SECONDLY", "1", "0", "-1", "99999", "MO,TU", "2MO", "20270101", "20270101T000000Z", ""]
            ),
        ).map("=".join),
        max_size=4,
    ).map(";".join),
    texts,
)
lists = st.one_of(st.lists(st.one_of(texts, durations), max_size=4), st.sampled_from(['["a"]', "[1]", "a", "[", None]))
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "start": times,
    "end": times,
    "duration": st.one_of(durations, st.integers(-5, 10**6)),
    "timezone": st.one_of(
        st.timezone_keys(), st.sampled_from(["Europe/Berlin", "CET", "../etc/passwd", "UTC+1"]), texts
    ),
    "recurrence": rules,
    "attendees": lists,
    "reminders": lists,
    "working_hours": st.one_of(st.sampled_from(["09:00-17:00", "22:00-06:00", "9-5", "25:00-26:00"]), texts),
    "content": st.one_of(
        st.sampled_from([data.decode() for data in ALL]), texts.map(lambda text: f"BEGIN:VCALENDAR\n{text}")
    ),
    "scope": st.sampled_from(["this", "following", "all", "THIS", ""]),
    "cursor": st.sampled_from(["", "x", "WyJldmVudHMiLDEsIiJd", "WyJmcmVlIiwxXQ"]),
}
PLAIN = {"string": texts, "integer": st.integers(-(10**6), 10**6), "boolean": st.booleans(), "array": lists}
IDS = ["E", "E/20261202T080000Z", "E/20261202", "E/20991231T235959Z", "x", "../x", "", "L"]
TOOLS = [
    *("calendar_create_event", "calendar_list_events", "calendar_get_event", "calendar_update_event"),
    *("calendar_delete_event", "calendar_find_free", "calendar_import", "calendar_export", "calendar_now"),
]


class Opened:
    """A client on a loop of its own, so that hypothesis may call it many times."""

    def __init__(self, home: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self._opening = here("calendar", home)
        self.client: Client[Any] = self.run(self._opening.__aenter__())
        self.tools: dict[str, Tool] = {tool.name: tool for tool in self.run(self.client.list_tools())}
        self.series = self._made("Series", recurrence="FREQ=DAILY")
        self.lunch = self._made("Lunch")

    def _made(self, title: str, **more: str) -> str:
        start = "2026-12-01T09:00"
        made = self.run(call(self.client, "calendar_create_event", title=title, start=start, **more))
        return str(made["event"]["id"])

    def run(self, act: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(act)

    def close(self) -> None:
        self.run(self._opening.__aexit__(None, None, None))
        self.loop.close()

    def id(self, told: str) -> str:
        """An id as one of `IDS` stands for it; what was deleted meanwhile is made again."""
        for letter, title, more in (("E", "Series", {"recurrence": "FREQ=DAILY"}), ("L", "Lunch", {})):
            if told[:1] == letter:
                return self._made(title, **more) + told[1:]
        return told


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    running = Opened(tmp_path_factory.mktemp("home"))
    yield running
    running.close()


def arguments_of(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments by the tool's own schema: the required ones, and any of the others, null among them."""
    properties, needed = tool.input_schema["properties"], set(tool.input_schema.get("required", ()))
    values = {
        name: st.sampled_from(IDS) if name == "id" else ARGUMENTS.get(name, PLAIN[property_["type"]])
        for name, property_ in properties.items()
    }
    return st.fixed_dictionaries(
        {name: value for name, value in values.items() if name in needed},
        optional={name: st.one_of(st.none(), value) for name, value in values.items() if name not in needed},
    )


def try_tool(opened: Opened, name: str, examples: int) -> None:
    @settings(
        deadline=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(arguments_of(opened.tools[name]))
    def check(arguments: dict[str, Any]) -> None:
        if isinstance(arguments.get("id"), str):
            arguments["id"] = opened.id(arguments["id"])
        result = opened.run(opened.client.call_tool(name, arguments, raise_on_error=False))
        said = text_of(result)
        if result.is_error:
            assert said.endswith("."), said
            assert "\n" not in said, said
            assert not INSIDE.search(said), said
            assert "Internal error" not in said, said
        else:
            assert result.structured_content is not None

    check()
    listed = opened.run(call(opened.client, "calendar_list_events", start="2020-01-01", end="2029-12-31"))
    assert listed["unreadable"] == 0


@pytest.mark.parametrize("name", TOOLS)
def test_whatever_is_sent_is_done_or_refused_in_one_sentence(opened: Opened, name: str) -> None:
    try_tool(opened, name, 12)


@pytest.mark.fuzz
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", TOOLS)
def test_whatever_is_sent_for_long_is_done_or_refused_in_one_sentence(opened: Opened, name: str) -> None:
    try_tool(opened, name, 400)


def test_every_tool_is_tried(opened: Opened) -> None:
    assert set(TOOLS) == set(opened.tools)
