from agent_host.providers.offline.calendar.looking import FindFree, ListEvents, NextEvent
from tests.agent_host.providers.offline.scenes import failed, perform

CALL = {"id": "e", "title": "Call", "start": "2026-12-04T09:00:00+01:00", "end": "2026-12-04T10:00:00+01:00"}
PAST = {"id": "p", "title": "Call", "start": "2026-12-01T08:00:00+01:00", "end": "2026-12-01T09:00:00+01:00"}
HOLIDAY = {"id": "h", "title": "Holiday", "start": "2026-12-04", "end": "2026-12-04", "all_day": True}


def test_without_a_day_the_coming_week_is_listed() -> None:
    _, (call,) = perform(ListEvents("what's on my calendar?"), {"calendar_list_events": {"events": []}})
    assert (str(call.arguments["start"])[:10], str(call.arguments["end"])[:10]) == ("2026-12-01", "2026-12-08")


def test_events_outside_the_period_are_left_out_whatever_the_server_sends() -> None:
    reply, _ = perform(ListEvents("tomorrow"), {"calendar_list_events": {"events": [CALL]}})
    assert reply == "Nothing is on your calendar: Wednesday 2 December."


def test_a_single_day_is_named_once() -> None:
    reply, _ = perform(ListEvents("on Friday"), {"calendar_list_events": {"events": [CALL, HOLIDAY]}})
    assert reply.splitlines() == [
        "On your calendar, Friday 4 December (Europe/Berlin):",
        "- all day: Holiday",
        "- 09:00 to 10:00: Call",
    ]


def test_a_page_that_is_not_the_last_is_said_to_be_one() -> None:
    answers = {"calendar_list_events": {"events": [CALL], "next_cursor": "c"}}
    assert "There is more" in perform(ListEvents("on Friday"), answers)[0]


def test_a_failed_look_is_said() -> None:
    down = {"calendar_list_events": failed("locked"), "calendar_find_free": failed("locked")}
    assert perform(ListEvents("today"), down)[0] == "I could not look into your calendar: locked"
    assert perform(NextEvent("call"), down)[0] == "I could not look into your calendar: locked"
    assert perform(FindFree("am I free tomorrow at 3pm"), down)[0] == "I could not look into your calendar: locked"
    assert perform(FindFree("free tomorrow"), down)[0] == "I could not look for free time: locked"


def test_the_next_event_is_the_first_one_that_is_not_over() -> None:
    later = {**CALL, "start": "2026-12-11T09:00:00+01:00", "end": "2026-12-11T10:00:00+01:00"}
    reply, _ = perform(NextEvent("call"), {"calendar_list_events": {"events": [later, CALL, PAST]}})
    assert reply.startswith("Next: Call: Friday 4 December, 09:00")


def test_without_a_fitting_event_ahead_there_is_no_next_one() -> None:
    reply, _ = perform(NextEvent("dentist"), {"calendar_list_events": {"events": [CALL]}})
    assert reply == "I found nothing called “dentist” ahead in your calendar."
    reply, _ = perform(NextEvent(""), {"calendar_list_events": {"events": [PAST]}})
    assert reply == "I found nothing ahead in your calendar."


def test_a_moment_is_free_when_nothing_overlaps_it() -> None:
    events = {"calendar_list_events": {"events": [CALL, HOLIDAY]}}
    assert (
        "Yes, you are free on Friday 4 December, 10:00" in perform(FindFree("am I free on Friday at 10am"), events)[0]
    )
    assert "All day then:" in perform(FindFree("am I free on Friday at 10am"), events)[0]
    assert perform(FindFree("am I free on Friday at 9:30 am"), events)[0].startswith("No, something is on then")
    busy, _ = perform(FindFree("am I free on Friday at 8am for two hours"), events)
    assert busy.startswith("No")


def test_free_time_is_asked_for_from_now_on_and_within_the_hours_named() -> None:
    nothing = {"calendar_find_free": {"slots": [], "working_hours": "09:00-17:00"}}
    _, (today,) = perform(FindFree("when am I free today"), nothing)
    assert str(today.arguments["start"]) == "2026-12-01T10:00:00+01:00"
    assert "working_hours" not in today.arguments
    _, (morning,) = perform(FindFree("find a free hour tomorrow morning"), nothing)
    assert (morning.arguments["working_hours"], morning.arguments["duration"]) == ("08:00-12:00", "60")
    _, (between,) = perform(FindFree("find a free half hour on Friday between 6 and 8am"), nothing)
    assert (between.arguments["working_hours"], between.arguments["duration"]) == ("06:00-08:00", "30")


def test_free_time_names_the_hours_it_looked_at_and_whole_day_events() -> None:
    slots = [{"start": "2026-12-04T09:00:00+01:00", "end": "2026-12-04T12:00:00+01:00"}, {"start": "x"}, {}]
    found = {"slots": slots, "working_hours": "09:00-17:00", "all_day_events": ["Holiday (2026-12-04)"]}
    reply, _ = perform(FindFree("when am I free on Friday"), {"calendar_find_free": found})
    assert "within 09:00-17:00" in reply
    assert "- Friday 4 December, 09:00 to 12:00" in reply
    assert "All day: Holiday (2026-12-04)." in reply


def test_a_period_that_is_over_is_asked_about() -> None:
    reply, calls = perform(FindFree("when was I free yesterday"), {})
    assert calls == []
    assert reply == "Monday 30 November is over. Which day did you mean?"
