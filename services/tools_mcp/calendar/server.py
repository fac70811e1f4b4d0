"""The calendar server's tools: definitions only; what they do is in `agenda`, how it is said in `wording`."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import Field

from service_runtime.mcp_server import new_server
from service_runtime.settings import Settings
from service_runtime.tool_arguments import OptionalFlag, OptionalText, OptionalTextList, Text
from tools_mcp.arguments import Cursor, Duration, Id, Key, Limit, MaybeMinutes, MaybeTextList, OptionalDuration
from tools_mcp.calendar.account import Account, account_of
from tools_mcp.calendar.calls import Call, Calls, calls_in
from tools_mcp.calendar.model import (
    EventAnswer,
    EventFields,
    EventList,
    ExportAnswer,
    FreeSlots,
    ImportAnswer,
    Now,
    Outcome,
    Scope,
)
from tools_mcp.calendar.times import local_text, read_duration, read_hours, utc_text, zone_named
from tools_mcp.calendar.wording import (
    import_text,
    json_bytes,
    list_answer,
    outcome_answer,
    row,
    slot,
    slots_answer,
    whole_days,
)
from tools_mcp.errors import InvalidInputError
from tools_mcp.paging import PAGE_BYTES, clamp, decode_cursor, encode_cursor, first_page
from tools_mcp.tool_definition import Kind, add_tool, answer

if TYPE_CHECKING:
    from tools_mcp.calendar.agenda import Agenda

_INSTRUCTIONS = "The person's calendar, kept as iCalendar files. Answers give local time and UTC."
_Title = Annotated[str, Field(min_length=1, max_length=300)]
_OptionalTitle = Annotated[str | None, Field(max_length=300)]
_Notes = Annotated[str | None, Field(max_length=4000)]
_Start = Annotated[str, Field(min_length=1, max_length=60, description="date, or time: local or with offset")]
_End = Annotated[str | None, Field(max_length=60, description="default: 1 hour; all day: last day")]
_Rule = Annotated[str | None, Field(max_length=500, description="RRULE")]
_Scope = Annotated[Scope | None, Field(description="default: this for an occurrence's id")]
_Reminders = Annotated[MaybeMinutes, Field(description="minutes before")]
_OptionalId = Annotated[str | None, Field(max_length=500)]
_WORKING_HOURS = "09:00-17:00"


def build(settings: Settings) -> "FastMCP[Any]":
    """Return the calendar server of one home.

    Raises:
        SetupError: The home cannot be made or the configured zone is unknown.
    """

    @asynccontextmanager
    async def lifespan(_: "FastMCP[Any]") -> AsyncIterator[dict[str, Any]]:
        yield {}

    server = new_server("calendar", _INSTRUCTIONS, lifespan)
    tools = CalendarTools(settings.home.folder("calendar", for_reading=True), settings.zone(), account_of(settings))
    add_tool(server, tools.create_event, "calendar_create_event", Kind.ADD, EventAnswer)
    add_tool(server, tools.list_events, "calendar_list_events", Kind.READ, EventList)
    add_tool(server, tools.get_event, "calendar_get_event", Kind.READ, EventAnswer)
    add_tool(server, tools.update_event, "calendar_update_event", Kind.CHANGE, EventAnswer)
    add_tool(server, tools.delete_event, "calendar_delete_event", Kind.DELETE, EventAnswer)
    add_tool(server, tools.find_free, "calendar_find_free", Kind.READ, FreeSlots)
    add_tool(server, tools.import_events, "calendar_import", Kind.CHANGE, ImportAnswer)
    add_tool(server, tools.export_events, "calendar_export", Kind.READ, ExportAnswer)
    add_tool(server, tools.now, "calendar_now", Kind.READ, Now)
    return server


@dataclass(frozen=True)
class CalendarTools:
    """One method per tool; its docstring is the description that models read."""

    folder: Path
    zone: ZoneInfo
    account: Account | None

    @cached_property
    def agenda(self) -> "Agenda":
        """The calendar; the iCalendar library behind it is imported at the first call, not at the start."""
        from tools_mcp.calendar.agenda import open_agenda

        return open_agenda(self.folder, self.zone, self.account)

    @cached_property
    def calls(self) -> Calls:
        """The calls that came with a key."""
        return calls_in(self.folder, self.agenda.now)

    def create_event(
        self,
        *,
        title: _Title,
        start: _Start,
        end: _End = None,
        duration: OptionalDuration = None,
        timezone: OptionalText = None,
        all_day: OptionalFlag = None,
        attendees: OptionalTextList = (),
        location: OptionalText = None,
        notes: _Notes = None,
        recurrence: _Rule = None,
        reminders: _Reminders = None,
        allow_duplicate: OptionalFlag = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Create an event. Local times are in timezone (IANA) or the person's."""
        fields = EventFields(
            *(title, start, end, duration, timezone, all_day, attendees, location, notes, recurrence, reminders)
        )
        asked = {"fields": asdict(fields), "allow_duplicate": allow_duplicate}
        return self._once(
            Call(idempotency_key, "calendar_create_event", asked),
            lambda: self.agenda.create(fields, allow_duplicate=bool(allow_duplicate), key=idempotency_key),
        )

    def list_events(
        self,
        *,
        start: OptionalText = None,
        end: OptionalText = None,
        query: OptionalText = None,
        limit: Limit = None,
        cursor: Cursor = None,
        expand: OptionalFlag = None,
    ) -> ToolResult:
        """List events, by default of today and a year on; expand false: a series as one row."""
        zone = self.zone
        window, remarks = self.agenda.window(start, end)
        after = decode_cursor(cursor, "events", (int, str)) if cursor else None
        wanted = clamp(limit, 20, 100)
        events, unreadable, until = self.agenda.between(window, query, after, wanted, expand=expand is not False)
        page = first_page(events, wanted, lambda event: len(row(event, zone).model_dump_json().encode()))
        next_at = self.agenda.position(page[-1]) if len(page) < len(events) else None
        if until is not None and next_at is None:
            next_at = int(until.timestamp()), ""
            remarks = (*remarks, f"So much repeats that only the time up to {until:%Y-%m-%d} was looked through.")
        model = EventList(
            events=[row(event, zone) for event in page],
            start=local_text(window.start.astimezone(zone)),
            end=local_text(window.end.astimezone(zone)),
            timezone=zone.key,
            next_cursor=encode_cursor("events", *next_at) if next_at else None,
            unreadable=unreadable,
            remarks=list(remarks),
        )
        return answer(model, list_answer(model, page, zone))

    def get_event(self, id: Id) -> ToolResult:  # noqa: A002 - the argument's public name
        """Read an event, series or occurrence whole."""
        return self._outcome(Outcome("found", self.agenda.get(id)))

    def update_event(
        self,
        *,
        id: Id,  # noqa: A002 - the argument's public name
        title: _OptionalTitle = None,
        start: OptionalText = None,
        end: OptionalText = None,
        duration: OptionalDuration = None,
        timezone: OptionalText = None,
        all_day: OptionalFlag = None,
        attendees: MaybeTextList = None,
        location: OptionalText = None,
        notes: _Notes = None,
        recurrence: _Rule = None,
        reminders: _Reminders = None,
        scope: _Scope = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Change an event. An empty text or list clears a field."""
        fields = EventFields(
            *(title, start, end, duration, timezone, all_day, attendees, location, notes, recurrence, reminders)
        )
        asked = {"id": id, "scope": scope, "fields": asdict(fields)}
        return self._once(
            Call(idempotency_key, "calendar_update_event", asked), lambda: self.agenda.update(id, fields, scope)
        )

    def delete_event(
        self,
        *,
        id: Id,  # noqa: A002 - the argument's public name
        scope: _Scope = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Move an event to the trash."""
        asked = {"id": id, "scope": scope}
        return self._once(Call(idempotency_key, "calendar_delete_event", asked), lambda: self.agenda.delete(id, scope))

    def find_free(
        self,
        *,
        start: Text,
        end: Text,
        duration: Duration,
        working_hours: Annotated[str | None, Field(max_length=20, description=_WORKING_HOURS)] = None,
        timezone: OptionalText = None,
        limit: Limit = None,
        cursor: Cursor = None,
    ) -> ToolResult:
        """Find free time of at least duration (minutes or ISO 8601)."""
        told = zone_named(timezone) if timezone else None
        zone = told or self.zone
        hours = working_hours or _WORKING_HOURS
        window, remarks = self.agenda.window(start, end, told)
        shortest = read_duration(duration, "duration")
        stretches, all_day = self.agenda.free(window, shortest, read_hours(hours), zone)
        if cursor:
            (after,) = decode_cursor(cursor, "free", (int,))
            stretches = [stretch for stretch in stretches if stretch[0].timestamp() > after]
        page = stretches[: clamp(limit, 20, 50)]
        more = len(page) < len(stretches)
        named, others = whole_days(all_day)
        model = FreeSlots(
            slots=[slot(stretch, zone) for stretch in page],
            timezone=zone.key,
            working_hours=hours,
            all_day_events=named,
            from_elsewhere=others,
            remarks=list(remarks),
            next_cursor=encode_cursor("free", int(page[-1][0].timestamp())) if more else None,
        )
        return answer(model, slots_answer(model))

    def import_events(
        self,
        *,
        content: Annotated[str, Field(min_length=1, max_length=200_000)],
        dry_run: OptionalFlag = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Import the text of an .ics file. Newer versions replace what is there."""

        def take_in() -> tuple[ImportAnswer, str]:
            model = self.agenda.take_in(content.encode(errors="replace"), dry_run=bool(dry_run))
            return model, import_text(model)

        call = Call(idempotency_key, "calendar_import", {"content": content, "dry_run": dry_run})
        return answer(*self.calls.once(call, ImportAnswer, take_in))

    def export_events(
        self,
        *,
        id: _OptionalId = None,  # noqa: A002 - the argument's public name
        start: OptionalText = None,
        end: OptionalText = None,
    ) -> ToolResult:
        """Get an event, or all from start to end, as .ics text."""
        data, events = self.agenda.packed(id or self.agenda.window(start, end)[0])
        if (size := json_bytes(data.decode())) > PAGE_BYTES:
            raise InvalidInputError(
                f"These {len(events)} events take {size // 1000} kB; choose a shorter time or one id, or let the "
                "person run `tools-mcp calendar export FILE`, which writes any number."
            )
        untrusted = any(event.foreign for event in events) or None
        model = ExportAnswer(ics=data.decode(), events=len(events), untrusted=untrusted)
        return answer(model, model.ics)

    def now(self) -> ToolResult:
        """Tell the date, time and zone of the person."""
        now = self.agenda.now()
        local = now.astimezone(self.zone).replace(microsecond=0)
        model = Now(local=local_text(local), utc=utc_text(now), timezone=self.zone.key, weekday=f"{local:%A}")
        return answer(model, f"{model.weekday} {model.local} ({model.timezone}), {model.utc}")

    def _once(self, call: Call, act: Callable[[], Outcome]) -> ToolResult:
        return answer(*self.calls.once(call, EventAnswer, lambda: outcome_answer(act(), self.zone)))

    def _outcome(self, outcome: Outcome) -> ToolResult:
        return answer(*outcome_answer(outcome, self.zone))
