"""The calendar as people run it: server processes, the command line, Radicale on the very folder."""

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO, Any, cast

import pytest

from tests.tools_mcp.calendar.radicale import PASSWORD, USER, radicale, serve_folder
from tests.tools_mcp.calendar.samples import ALL, GOOGLE_LIKE
from tests.tools_mcp.running import call, environment, here, over_stdio, refused
from tools_mcp.calendar.ics import decode

pytestmark = pytest.mark.slow  # starts many processes

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}}
EACH = 4


def caldav(url: str, password: str = PASSWORD) -> dict[str, str]:
    """The settings of Ann's calendar."""
    return {
        "PROMETHEUS_CALDAV_URL": url,
        "PROMETHEUS_CALDAV_USER": USER,
        "PROMETHEUS_CALDAV_PASSWORD": password,
    }


def run(home: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools_mcp", "calendar", *words]
    return subprocess.run(command, env=environment(home, **more), cwd=home, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", ["folder", pytest.param("caldav", marks=pytest.mark.durability)])
async def test_two_servers_that_edit_one_event_and_add_others_lose_nothing(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    told = caldav(request.getfixturevalue("calendar_url")) if kind == "caldav" else {}
    async with AsyncExitStack() as stack:
        opening = [stack.enter_async_context(over_stdio("calendar", tmp_path, **told)) for _ in range(2)]
        one, other = await asyncio.gather(*opening)
        series = await call(
            one, "calendar_create_event", title="Stand-up", start="2026-12-01T09:00", recurrence="FREQ=DAILY;COUNT=40"
        )
        uid = series["event"]["id"]
        await asyncio.gather(
            *(
                call(one, "calendar_update_event", id=f"{uid}/202612{day:02}T080000Z", title=f"one {day}")
                for day in range(2, 2 + EACH)
            ),
            *(
                call(other, "calendar_update_event", id=f"{uid}/202612{day:02}T080000Z", title=f"other {day}")
                for day in range(20, 20 + EACH)
            ),
            *(call(other, "calendar_create_event", title=f"new {n}", start="2027-03-01T09:00") for n in range(EACH)),
        )
        pages = [
            await call(one, "calendar_list_events", start=start, end=end, limit=100)
            for start, end in (("2026-12-01", "2026-12-31"), ("2027-01-01", "2027-03-02"))
        ]

    titles = [event["title"] for page in pages for event in page["events"]]
    assert sorted(title for title in titles if title != "Stand-up") == sorted(
        [*(f"one {day}" for day in range(2, 2 + EACH)), *(f"other {day}" for day in range(20, 20 + EACH))]
        + [f"new {number}" for number in range(EACH)]
    )
    assert titles.count("Stand-up") == 40 - 2 * EACH


@pytest.mark.parametrize("kind", ["folder", pytest.param("caldav", marks=pytest.mark.durability)])
async def test_a_server_killed_between_write_and_reply_leaves_one_event_after_the_retry(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    told = caldav(request.getfixturevalue("calendar_url")) if kind == "caldav" else {}
    arguments = {"title": "Lunch", "start": "2026-12-01T12:00", "idempotency_key": "k1", "allow_duplicate": True}
    create_and_be_killed(tmp_path, arguments, told)
    async with over_stdio("calendar", tmp_path, **told) as client:
        again = await call(client, "calendar_create_event", **arguments)
        listed = await call(client, "calendar_list_events", start="2026-12-01", end="2026-12-01")
    assert again["status"] == "created"
    assert [event["id"] for event in listed["events"]] == [again["event"]["id"]]


def create_and_be_killed(home: Path, arguments: dict[str, Any], told: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tools_mcp", "calendar"]
    with subprocess.Popen(
        command, env=environment(home, **told), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        stdin, stdout = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        for method, params in (
            ("initialize", INITIALIZE),
            ("tools/call", {"name": "calendar_create_event", "arguments": arguments}),
        ):
            stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            stdin.flush()
            assert "result" in json.loads(stdout.readline())  # the reply that the host is to lose
        process.kill()


def test_files_are_imported_and_exported_from_the_command_line(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for number, data in enumerate(ALL):
        (home / f"{number}.ics").write_bytes(data)
    files = [f"{number}.ics" for number in range(3)]

    dry = run(home, "import", "--dry-run", *files)
    assert (dry.returncode, dry.stdout.splitlines()[0]) == (
        0,
        "0.ics: 2 would be added, 0 would be updated, 0 there already",
    )
    assert run(home, "--check").stdout == "calendar: 0 events and series\n"
    done = run(home, "import", *files)
    assert done.stdout.splitlines() == [
        "0.ics: 2 added, 0 updated, 0 there already",
        "left out: Buy milk is a task, no event",
        "1.ics: 1 added, 0 updated, 0 there already",
        "2.ics: 2 added, 0 updated, 0 there already",
    ]
    assert run(home, "--check").stdout == "calendar: 5 events and series\n"
    assert run(home, "export", "all.ics").stdout == "all.ics: 5 events and series\n"
    part = run(home, "export", "part.ics", "--start", "2026-12-24", "--end", "2026-12-26")
    assert part.stdout == "part.ics: 1 events and series\n"
    assert run(home, "import", "all.ics").stdout.startswith("all.ics: 0 added, 0 updated, 5 there already")
    assert len(decode((home / "all.ics").read_bytes()).events) == 6


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("import", "none.ics"), 1, "none.ics: cannot be read: no such file or directory."),
        (("import", "other.txt"), 1, "other.txt: This is no iCalendar text"),
        (("export", "no/such/folder.ics"), 2, "cannot be written: no such file or directory."),
        (("export", "all.ics", "--start", "soon"), 1, "start 'soon' is no time that can be read"),
        (("import",), 2, "usage: tools-mcp calendar import"),
    ],
)
def test_the_command_line_says_in_a_line_what_is_wrong(
    tmp_path: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    (tmp_path / "other.txt").write_text("hello")
    done = run(tmp_path, *words)

    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_check_says_what_is_wrong_with_the_server_and_never_the_password(tmp_path: Path, calendar_url: str) -> None:
    good = run(tmp_path, "--check", **caldav(calendar_url))
    wrong = run(tmp_path, "--check", "--log-level", "debug", **caldav(calendar_url, "wrong but secret"))
    near = run(tmp_path, "--check", **caldav("https://ann:secret@example.org/"))

    assert (good.returncode, good.stdout) == (0, "calendar: 0 events and series\n")
    assert (wrong.returncode, near.returncode) == (1, 2)
    assert "refused the user or password; check PROMETHEUS_CALDAV_USER" in wrong.stderr
    assert "holds a user or password" in near.stderr
    assert "secret" not in wrong.stderr + near.stderr


async def test_radicale_serves_the_very_folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with radicale(tmp_path_factory.mktemp("radicale-here")) as server:
        home = server.storage / "collection-root" / USER
        async with here("calendar", home) as client:
            made = await call(
                client,
                "calendar_create_event",
                title="Stand-up; daily, \\ at nine",
                start="2026-12-01T09:00",
                recurrence="FREQ=DAILY;COUNT=5",
            )
            uid = made["event"]["id"]
            await call(client, "calendar_update_event", id=f"{uid}/20261202T080000Z", start="2026-12-02T15:00")
            await call(client, "calendar_delete_event", id=f"{uid}/20261203T080000Z")
            await call(client, "calendar_create_event", title="Holiday", start="2026-12-24", end="2026-12-26")
            await call(client, "calendar_import", content=GOOGLE_LIKE.decode())
            ours = await call(client, "calendar_list_events", start="2026-12-01", end="2027-01-31", limit=100)
        serve_folder(home / "calendar")
        async with here("calendar", tmp_path, **caldav(f"{server.url}/{USER}/calendar/")) as client:
            theirs = await call(client, "calendar_list_events", start="2026-12-01", end="2027-01-31", limit=100)
            await call(client, "calendar_update_event", id=uid, location="From the server")
        async with here("calendar", home) as client:
            back = await call(client, "calendar_get_event", id=uid)

    plain = [[{**event, "id": event["id"]} for event in listed["events"]] for listed in (ours, theirs)]
    assert len(plain[0]) == 10
    assert plain[0] == plain[1]
    assert back["event"]["location"] == "From the server"


async def test_the_tools_import_and_export_text(tmp_path: Path) -> None:
    async with here("calendar", tmp_path) as client:
        dry = await call(client, "calendar_import", content=GOOGLE_LIKE.decode(), dry_run=True)
        done = await call(client, "calendar_import", content=GOOGLE_LIKE.decode())
        out = await call(client, "calendar_export", start="2026-12-24", end="2026-12-24")
        one = await call(client, "calendar_export", id="7kukuqrfedlm2f9t0vr42q4@web.example/20261208T080000Z")
        said = await refused(client, "calendar_import", content="hello")
        rows = await call(client, "calendar_list_events", start="2026-12-01", end="2026-12-31")
        await call(
            client,
            "calendar_create_event",
            title="Long",
            start="2026-12-24T09:00",
            notes="用" * 4000,
            attendees=["用" * 199 + str(n % 10) for n in range(50)],
        )
        long = await refused(client, "calendar_export", start="2026-12-24", end="2026-12-24")

    assert (dry["added"], dry["dry_run"], done["added"]) == (2, True, 2)
    assert done["skipped"] == [{"title": "Buy milk", "reason": "is a task, no event"}]
    assert (out["events"], [event["SUMMARY"] for event in decode(out["ics"].encode()).events]) == (1, ["Away"])
    assert one["ics"].count("BEGIN:VEVENT") == 2
    assert said == "This is no iCalendar text; send what is in a .ics file, from BEGIN:VCALENDAR on."
    assert {row["untrusted"] for row in rows["events"]} == {True}
    assert "tools-mcp calendar export FILE" in long


async def test_a_listed_row_says_which_series_it_is_of_and_scope_says_what_changes(tmp_path: Path) -> None:
    async def titles(client: Any) -> list[str]:
        listed = await call(client, "calendar_list_events", start="2026-12-01", end="2026-12-31")
        return [event["title"] for event in listed["events"]]

    async with here("calendar", tmp_path) as client:
        made = await call(
            client, "calendar_create_event", title="A", start="2026-12-01T09:00", recurrence="FREQ=DAILY;COUNT=4"
        )
        listed = await call(client, "calendar_list_events", start="2026-12-01", end="2026-12-31")
        row = listed["events"][1]
        assert row["series_id"] == made["event"]["id"]
        assert row["id"] == f"{row['series_id']}/20261202T080000Z"
        changed = await call(client, "calendar_update_event", id=row["id"], title="B")
        assert (changed["event"]["changed"], await titles(client)) == (True, ["A", "B", "A", "A"])
        await call(client, "calendar_update_event", id=listed["events"][2]["id"], title="C", scope="following")
        assert await titles(client) == ["A", "B", "C", "C"]
        await call(client, "calendar_delete_event", id=listed["events"][0]["id"])
        assert await titles(client) == ["B", "C", "C"]
        await call(client, "calendar_delete_event", id=listed["events"][1]["id"], scope="all")
        assert await titles(client) == ["C", "C"]
        said = await refused(client, "calendar_update_event", id="x", title="D", scope="some")
        assert "'this', 'following', 'all'" in said
