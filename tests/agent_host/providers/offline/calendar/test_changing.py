from dataclasses import replace

import pytest

from agent_host.providers.offline.calendar.changing import Cancel, Move
from agent_host.providers.offline.questions import WHICH_ONE
from agent_host.providers.protocol import JsonValue
from tests.agent_host.providers.offline.scenes import SCENE, failed, outcome, perform


def event(identifier: str, title: str, start: str, **more: JsonValue) -> dict[str, JsonValue]:
    end = f"{start[:11]}{int(start[11:13]) + 1:02d}{start[13:]}"
    return {"id": identifier, "title": title, "start": f"{start}:00+01:00", "end": f"{end}:00+01:00", **more}


CALL = event("e1", "Call with Ana", "2026-12-04T09:00")
LUNCH = event("e2", "Lunch with Ana", "2026-12-04T12:00")
NEXT_WEEK = event("e3", "Stand-up", "2026-12-08T10:00")
UPDATED = {"status": "updated", "event": CALL}


def test_an_event_is_cancelled_by_a_word_of_its_title() -> None:
    reply, calls = perform(
        Cancel("the call on Friday"), {"calendar_list_events": {"events": [CALL, LUNCH]}, "calendar_delete_event": {}}
    )
    assert calls[-1].arguments == {"id": "e1"}
    assert reply.startswith("Cancelled. Call with Ana")


def test_an_event_is_cancelled_by_its_clock_time_alone() -> None:
    answers = {"calendar_list_events": {"events": [CALL, LUNCH]}, "calendar_delete_event": {}}
    _, calls = perform(Cancel("my 9am on Friday"), answers)
    assert calls[-1].arguments == {"id": "e1"}
    _, calls = perform(Cancel("my noon meeting"), answers)
    assert calls[-1].arguments == {"id": "e2"}


def test_the_best_fit_is_taken_before_a_half_one() -> None:
    answers = {"calendar_list_events": {"events": [CALL, LUNCH]}, "calendar_delete_event": {}}
    _, calls = perform(Cancel("lunch with Ana on Friday"), answers)
    assert [call.tool for call in calls] == ["calendar_list_events", "calendar_delete_event"]
    assert calls[-1].arguments == {"id": "e2"}


def test_today_s_weekday_is_looked_for_today_and_a_week_later() -> None:
    request = Cancel("the stand-up on Tuesday").run(SCENE)
    (first,) = next(request)
    (second,) = request.send((outcome({"events": []}),))
    assert [str(call.arguments["start"])[:10] for call in (first, second)] == ["2026-12-01", "2026-12-08"]
    (deletion,) = request.send((outcome({"events": [NEXT_WEEK]}),))
    assert deletion.arguments == {"id": "e3"}


def test_a_target_that_names_nothing_is_asked_about_even_when_there_is_one_event() -> None:
    reply, calls = perform(Cancel("the meeting"), {"calendar_list_events": {"events": [CALL]}})
    assert [call.tool for call in calls] == ["calendar_list_events"]
    assert reply.endswith(WHICH_ONE)


def test_a_long_choice_is_cut() -> None:
    many = [event(f"e{hour}", f"Call {hour}", f"2026-12-04T{hour:02d}:00") for hour in range(8, 20)]
    reply, _ = perform(Cancel("a call on Friday"), {"calendar_list_events": {"events": many}})
    assert "9. Call 16" in reply
    assert "… and 3 more." in reply


STAND_UPS = [
    event(f"s/202612{day:02d}T090000Z", "Stand-up", f"2026-12-{day:02d}T10:00", recurring=True, series_id="s")
    for day in (4, 8, 11)
]


def test_one_day_of_a_series_is_cancelled_alone_and_the_whole_series_once() -> None:
    that_day = {"calendar_list_events": {"events": STAND_UPS[1:2]}, "calendar_delete_event": {}}
    _, calls = perform(Cancel("the stand-up on 8 December"), that_day)
    assert [call.arguments for call in calls[1:]] == [{"id": "s/20261208T090000Z", "scope": "this"}]
    answers = {"calendar_list_events": {"events": STAND_UPS}, "calendar_delete_event": {}}
    _, calls = perform(Cancel("the whole stand-up series"), answers)
    assert [call.arguments for call in calls[1:]] == [{"id": "s", "scope": "all"}]


@pytest.mark.parametrize(
    ("target", "identifier", "scope"),
    [
        ("only the stand-up on 8 December", "s/20261208T090000Z", "this"),
        ("the next standup", "s/20261204T090000Z", "this"),
        ("the stand-up from 8 December on", "s/20261208T090000Z", "following"),
        ("the stand-up from now on", "s/20261204T090000Z", "following"),
        ("every stand-up", "s", "all"),
    ],
)
def test_as_much_of_a_series_is_cancelled_as_the_words_say(target: str, identifier: str, scope: str) -> None:
    events = STAND_UPS[1:2] if "8 December" in target else STAND_UPS
    answers = {"calendar_list_events": {"events": events}, "calendar_delete_event": {}}
    reply, calls = perform(Cancel(target), answers)
    assert [call.arguments for call in calls[1:]] == [{"id": identifier, "scope": scope}]
    assert {"this": "Only that day.", "following": "all after it.", "all": "The whole series."}[scope] in reply


@pytest.mark.parametrize(
    ("target", "scope", "said"),
    [
        ("only Friday's stand-up", "this", "Only that day."),
        ("the whole stand-up series", "all", "The whole series."),
        ("the stand-up from Friday onwards", "following", "all after it."),
        ("Friday's standup, just this once", "this", "Only that day."),
    ],
)
def test_as_much_of_a_series_is_moved_as_the_words_say(target: str, scope: str, said: str) -> None:
    answers = {"calendar_list_events": {"events": STAND_UPS[:1]}, "calendar_update_event": {"event": STAND_UPS[0]}}
    reply, calls = perform(Move(target, "11:00"), answers)
    wanted = {"id": "s/20261204T090000Z", "start": "2026-12-04T11:00:00", "end": "2026-12-04T12:00:00", "scope": scope}
    assert calls[-1].arguments == {**wanted, "timezone": "Europe/Berlin"}
    assert said in reply


def test_all_events_of_a_day_are_that_days_and_never_whole_series() -> None:
    answers = {"calendar_list_events": {"events": [STAND_UPS[0], CALL]}, "calendar_delete_event": {}}
    reply, _ = perform(Cancel("all my meetings on Friday"), answers)
    assert reply.endswith(WHICH_ONE)
    _, calls = perform(Cancel("all my meetings on Friday"), answers, replace(SCENE, choice=0))
    assert [call.arguments for call in calls[1:]] == [{"id": "s/20261204T090000Z", "scope": "this"}, {"id": "e1"}]


def test_several_days_of_a_series_are_asked_about() -> None:
    answers = {"calendar_list_events": {"events": STAND_UPS}, "calendar_update_event": {"event": STAND_UPS[0]}}
    reply, calls = perform(Move("the stand-up", "11:00"), answers)
    assert reply.endswith(WHICH_ONE)
    assert len(calls) == 1
    _, calls = perform(Move("the stand-up", "11:00"), answers, replace(SCENE, choice=2))
    assert (calls[-1].arguments["id"], calls[-1].arguments["scope"]) == ("s/20261208T090000Z", "this")


def test_what_is_over_is_meant_only_when_nothing_else_fits() -> None:
    over = event("e0", "Call with Bob", "2026-11-30T09:00")
    answers = {"calendar_list_events": {"events": [over, CALL]}, "calendar_delete_event": {}}
    _, calls = perform(Cancel("this week's call"), answers)
    assert calls[-1].arguments == {"id": "e1"}
    _, calls = perform(Cancel("the call with Bob"), answers)
    assert calls[-1].arguments == {"id": "e0"}


def test_a_change_of_an_event_that_stands_alone_says_nothing_of_a_series() -> None:
    answers = {"calendar_list_events": {"events": [CALL]}, "calendar_delete_event": {}}
    reply, calls = perform(Cancel("every call on Friday"), answers)
    assert calls[-1].arguments == {"id": "e1"}
    assert "series" not in reply


def test_a_failed_look_or_deletion_is_never_called_done() -> None:
    reply, _ = perform(Cancel("the call"), {"calendar_list_events": failed("locked")})
    assert reply == "I could not look into your calendar, so I changed nothing: locked"
    answers = {"calendar_list_events": {"events": [CALL]}, "calendar_delete_event": failed("gone")}
    reply, _ = perform(Cancel("the call on Friday"), answers)
    assert reply == "I could not cancel “Call with Ana”: gone"


def test_a_move_keeps_the_length_and_what_was_not_named() -> None:
    answers = {"calendar_list_events": {"events": [CALL]}, "calendar_update_event": UPDATED}
    for to, start, end in (
        ("10am", "2026-12-04T10:00:00", "2026-12-04T11:00:00"),
        ("10", "2026-12-04T10:00:00", "2026-12-04T11:00:00"),
        ("Monday", "2026-12-07T09:00:00", "2026-12-07T10:00:00"),
        ("Monday at 2pm", "2026-12-07T14:00:00", "2026-12-07T15:00:00"),
        ("Monday from 2 to 4pm", "2026-12-07T14:00:00", "2026-12-07T16:00:00"),
    ):
        _, calls = perform(Move("the call on Friday", to), answers)
        wanted = {"id": "e1", "start": start, "end": end, "timezone": "Europe/Berlin"}
        assert calls[-1].arguments == wanted, to


@pytest.mark.parametrize("mark", [{"recurring": True}, {"recurrence": "FREQ=WEEKLY;BYDAY=TU"}])
@pytest.mark.parametrize("target", ["the stand-up on 8 December", "the whole stand-up series on 8 December"])
def test_a_series_is_never_moved_for_one_of_its_days(target: str, mark: dict[str, object]) -> None:
    answers = {"calendar_list_events": {"events": [NEXT_WEEK | mark]}}
    reply, calls = perform(Move(target, "3pm"), answers)
    assert [call.tool for call in calls] == ["calendar_list_events"]
    assert reply.startswith("“Stand-up” repeats, and I cannot change one of its days alone, so I changed nothing.")
    _, calls = perform(Move(target, "3pm"), answers, replace(SCENE, choice=1))
    assert [call.tool for call in calls] == ["calendar_list_events"]


def test_a_move_into_the_past_moves_nothing() -> None:
    reply, calls = perform(Move("the call on Friday", "yesterday at 9am"), {"calendar_list_events": {"events": [CALL]}})
    assert len(calls) == 1
    assert "in the past" in reply


def test_a_move_asks_which_and_takes_a_choice() -> None:
    answers = {"calendar_list_events": {"events": [CALL, LUNCH]}, "calendar_update_event": UPDATED}
    reply, _ = perform(Move("Ana on Friday", "3pm"), answers)
    assert reply.endswith(WHICH_ONE)
    _, calls = perform(Move("Ana on Friday", "3pm"), answers, replace(SCENE, choice=-1))
    assert calls[-1].arguments["id"] == "e2"


def test_failed_moves_are_never_called_done() -> None:
    reply, _ = perform(Move("the call", "10am"), {"calendar_list_events": failed("locked")})
    assert reply == "I could not look into your calendar, so I changed nothing: locked"
    answers = {"calendar_list_events": {"events": [CALL]}, "calendar_update_event": failed("refused")}
    reply, _ = perform(Move("the call on Friday", "10am"), answers)
    assert reply == "I could not change “Call with Ana”: refused"
    reply, _ = perform(Move("the dentist on Friday", "10am"), {"calendar_list_events": {"events": [CALL]}})
    assert "I found nothing called “dentist”" in reply


STORED = replace(SCENE, touched=CALL)


@pytest.mark.parametrize("target", ["it", "that", "the call", "the meeting", "the call with Ana"])
def test_what_was_just_stored_is_meant_by_it_and_by_its_name(target: str) -> None:
    _, calls = perform(Cancel(target), {"calendar_delete_event": {}}, STORED)
    assert [call.arguments for call in calls] == [{"id": "e1"}]


@pytest.mark.parametrize(
    "target", ["all my meetings", "everything", "the call with Bob", "it on Monday", "the next call"]
)
def test_other_words_are_looked_up_as_ever(target: str) -> None:
    _, calls = perform(Cancel(target), {"calendar_list_events": {"events": []}}, STORED)
    assert {call.tool for call in calls} == {"calendar_list_events"}


def test_a_series_that_is_only_pointed_at_needs_its_day() -> None:
    weekly = event("e1", "Call with Ana", "2026-12-04T09:00", recurring=True)
    reply, calls = perform(Cancel("it"), {}, replace(SCENE, touched=weekly))
    assert calls == []
    assert reply.startswith("“Call with Ana” repeats, so I changed nothing.")


@pytest.mark.parametrize(
    ("move", "start", "end"),
    [
        (Move("it", shift=30), "09:30", "10:30"),
        (Move("it", shift=-60), "08:00", "09:00"),
        (Move("it", "an hour and a half"), "09:00", "10:30"),
        (Move("it", "at 10 for 2 hours"), "10:00", "12:00"),
    ],
)
def test_a_start_is_shifted_and_a_length_changed(move: Move, start: str, end: str) -> None:
    _, (call,) = perform(move, {"calendar_update_event": UPDATED}, STORED)
    assert (call.arguments["start"], call.arguments["end"]) == (f"2026-12-04T{start}:00", f"2026-12-04T{end}:00")


def test_a_new_name_leaves_the_times_alone() -> None:
    reply, (call,) = perform(Move("it", title="Sync"), {"calendar_update_event": UPDATED}, STORED)
    assert call.arguments == {"id": "e1", "title": "Sync"}
    assert reply.startswith("Renamed.")


def test_a_whole_day_moves_to_another_day_and_to_no_hour() -> None:
    holiday = replace(SCENE, touched={"id": "e9", "title": "Holiday", "start": "2026-12-03", "end": "2026-12-04"})
    _, (call,) = perform(Move("it", "10 December"), {"calendar_update_event": UPDATED}, holiday)
    assert call.arguments == {"id": "e9", "start": "2026-12-10", "end": "2026-12-11", "all_day": True}
    reply, calls = perform(Move("it", "at 10"), {}, holiday)
    assert calls == []
    assert "takes whole days, so I changed nothing" in reply


@pytest.mark.parametrize(
    ("to", "hour"), [("9", 21), ("9am", 9), ("14:00", 14), ("Monday", 20), ("in the morning at 9", 9)]
)
def test_an_evening_stays_an_evening(to: str, hour: int) -> None:
    dinner = replace(SCENE, touched=event("e1", "Dinner", "2026-12-04T20:00"))
    _, (call,) = perform(Move("it", to), {"calendar_update_event": UPDATED}, dinner)
    assert str(call.arguments["start"])[11:13] == f"{hour:02d}"


def test_an_event_moves_to_one_day_and_its_range_keeps_the_day() -> None:
    stored = replace(SCENE, touched=CALL)
    reply, calls = perform(Move("it", "Monday and Friday"), {}, stored)
    assert (reply, calls) == ("That names several days, so I changed nothing. Say one of them.", [])
    _, (call,) = perform(Move("it", "from 2 to 4pm"), {"calendar_update_event": UPDATED}, stored)
    assert (call.arguments["start"], call.arguments["end"]) == ("2026-12-04T14:00:00", "2026-12-04T16:00:00")
