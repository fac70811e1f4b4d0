import pytest

from agent_host.providers.offline.notes.requests import (
    AppendNote,
    DeleteNote,
    FindNote,
    ListNotes,
    TakeNote,
    title_for,
)
from agent_host.providers.offline.questions import WHAT_TO_NOTE
from tests.agent_host.providers.offline.scenes import failed, perform

GROCERIES = {"id": "Groceries", "title": "Groceries", "modified": "2026-11-30T08:00:00Z", "snippet": "<<milk>>"}
IDEAS = {"id": "Ideas", "title": "Ideas", "snippet": "groceries by bike"}
WRITTEN = {"status": "created", "id": "x", "title": "Kept title"}


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("call Ana. She is back.", "Call Ana"),
        ("call Ana\nand Bob", "Call Ana"),
        ("wifi: hunter2", "Wifi"),
        ("word " * 40, "Word" + " word" * 11 + "…"),
        ("...", "Note"),
        ("", "Note"),
    ],
)
def test_a_note_without_a_title_gets_its_first_clause(body: str, title: str) -> None:
    assert title_for(body) == title


def test_a_note_is_written_as_typed_and_never_over_another() -> None:
    reply, (call,) = perform(TakeNote("", "call Ana\n- about tea "), {"notes_write": WRITTEN})
    assert call.arguments == {"title": "Call Ana", "body": "call Ana\n- about tea"}
    assert reply == "Noted under “Kept title”: call Ana - about tea"


def test_an_empty_note_is_asked_for() -> None:
    assert perform(TakeNote("", "  "), {}) == (WHAT_TO_NOTE, [])


def test_a_line_is_added_to_the_note_whose_title_fits() -> None:
    answers = {"notes_search": {"notes": [IDEAS, GROCERIES]}, "notes_write": WRITTEN}
    reply, calls = perform(AppendNote("groceries", "butter"), answers)
    assert calls[-1].arguments == {"title": "Groceries", "body": "Butter", "mode": "append"}
    assert reply == "Added to “Groceries”: Butter"


@pytest.mark.parametrize("found", [{"notes": [IDEAS]}, {"notes": []}, failed("no index")])
def test_a_line_for_a_note_that_is_not_there_starts_one(found: object) -> None:
    reply, calls = perform(AppendNote("groceries", "butter"), {"notes_search": found, "notes_write": WRITTEN})
    assert calls[-1].arguments == {"title": "Groceries", "body": "Butter", "mode": "create"}
    assert reply == "Started a note “Groceries”: Butter"


def test_a_single_note_is_read_and_shown_set_in() -> None:
    whole = {"id": "Groceries", "title": "Groceries", "body": "milk\neggs", "modified": "2026-11-30T08:00:00Z"}
    reply, calls = perform(FindNote("milk"), {"notes_search": {"notes": [GROCERIES]}, "notes_read": whole})
    assert calls[-1].arguments == {"id": "Groceries"}
    assert reply == "Note “Groceries”, Monday 30 November:\n  milk\n  eggs"


def test_several_notes_are_listed_unless_one_bears_the_title() -> None:
    both = {"notes": [IDEAS, GROCERIES]}
    reply, calls = perform(FindNote("milk"), {"notes_search": both})
    assert [call.tool for call in calls] == ["notes_search"]
    assert "- Groceries (Monday 30 November): milk" in reply
    reply, calls = perform(
        FindNote("groceries"), {"notes_search": both, "notes_read": {"title": "Groceries", "body": ""}}
    )
    assert calls[-1].arguments == {"id": "Groceries"}
    assert "(empty)" in reply
    assert "Also:\n- Ideas" in reply


def test_a_very_long_note_is_cut_with_how_much_is_left_out() -> None:
    long = {"title": "Long", "body": "x" * 5000}
    reply, _ = perform(FindNote("milk"), {"notes_search": {"notes": [GROCERIES]}, "notes_read": long})
    assert reply.endswith("… 1000 more characters")


def test_failures_are_said_with_what_is_known() -> None:
    assert (
        perform(FindNote("milk"), {"notes_search": failed("no index")})[0] == "I could not search your notes: no index"
    )
    found = {"notes_search": {"notes": [GROCERIES]}, "notes_read": failed("gone"), "notes_delete": failed("gone")}
    assert perform(FindNote("milk"), found)[0].startswith("I could not open “Groceries”: gone")
    assert perform(DeleteNote("groceries"), found)[0] == "I could not delete “Groceries”: gone"
    assert perform(ListNotes(), {"notes_list": failed("gone")})[0] == "I could not list your notes: gone"
    assert "deleted nothing: x" in perform(DeleteNote("milk"), {"notes_search": failed("x")})[0]


def test_asking_for_notes_about_nothing_lists_them() -> None:
    reply, calls = perform(FindNote("the"), {"notes_list": {"notes": [IDEAS]}})
    assert [call.tool for call in calls] == ["notes_list"]
    assert "- Ideas" in reply


def test_only_a_note_whose_title_fits_is_deleted() -> None:
    reply, calls = perform(DeleteNote("groceries"), {"notes_search": {"notes": [GROCERIES, IDEAS]}, "notes_delete": {}})
    assert calls[-1].arguments == {"id": "Groceries"}
    assert "trash" in reply
    reply, calls = perform(DeleteNote("milk"), {"notes_search": {"notes": [GROCERIES]}})
    assert len(calls) == 1
    assert "so I deleted nothing" in reply
