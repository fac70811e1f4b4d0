import pytest

from agent_host.providers.offline.notes.intents import append_note, delete_note, find_note, take_note
from agent_host.providers.offline.notes.requests import AppendNote, DeleteNote, FindNote, ListNotes, TakeNote


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("Take a note: call Ana", "", "call Ana"),
        ("take a note that Ana called", "", "Ana called"),
        ("make a quick note: call Ana", "", "call Ana"),
        ("make a note of this: call Ana", "", "call Ana"),
        ("note to self: call Ana", "", "call Ana"),
        ("note: call Ana", "", "call Ana"),
        ("new note\ncall Ana\nand Bob", "", "call Ana\nand Bob"),
        ("jot down call Ana", "", "call Ana"),
        ("write down that Ana called", "", "Ana called"),
        ("Note titled Groceries: milk, eggs", "Groceries", "milk, eggs"),
        ('create a note called "To do: home" with clean up', "To do: home", "clean up"),
        ("write a note about Ana saying she called", "Ana", "she called"),
        ("add a note named Ideas: more tests", "Ideas", "more tests"),
        ("take a note", "", ""),
        ("note", "", ""),
    ],
)
def test_a_note_has_a_title_when_one_is_told_and_the_rest_is_its_text(text: str, title: str, body: str) -> None:
    assert take_note(text) == TakeNote(title, body)


@pytest.mark.parametrize("text", ["note that I am away", "notes", "find a note", "I made a note", "take the notebook"])
def test_other_sentences_take_no_note(text: str) -> None:
    assert take_note(text) is None


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("add milk to my groceries list", "groceries", "milk"),
        ("Add oat milk to the groceries note.", "groceries", "oat milk"),
        ("put milk and eggs on my shopping list", "shopping", "milk and eggs"),
        ("append milk to my note called Groceries", "Groceries", "milk"),
        ("append to note Groceries: milk", "Groceries", "milk"),
        ("add to my ideas note: more tests", "ideas", "more tests"),
    ],
)
def test_a_line_goes_to_the_note_that_is_named(text: str, title: str, body: str) -> None:
    assert append_note(text) == AppendNote(title, body)


@pytest.mark.parametrize(
    "text", ["add to my calendar: dentist, Friday 3pm", "add milk", "put lunch in my calendar", "list"]
)
def test_other_sentences_add_to_no_note(text: str) -> None:
    assert append_note(text) is None


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("find my note about groceries", "groceries"),
        ("search my notes for milk", "milk"),
        ("what's in my groceries note?", "groceries"),
        ("read my note Groceries", "Groceries"),
        ("show me the notes on tea", "tea"),
        ("do I have a note about tea?", "tea"),
        ("what does my groceries note say?", "groceries"),
        ("open the note called “Trip plans”", "Trip plans"),
    ],
)
def test_a_note_is_looked_for_by_what_it_is_about(text: str, query: str) -> None:
    assert find_note(text) == FindNote(query)


@pytest.mark.parametrize(
    "text", ["list my notes", "notes", "show me all my notes", "what notes do I have?", "my notes"]
)
def test_all_notes_are_asked_for(text: str) -> None:
    assert find_note(text) == ListNotes()


def test_a_note_is_deleted_by_what_it_is_about() -> None:
    assert delete_note("delete my note about milk") == DeleteNote("milk")
    assert delete_note("remove the groceries note") == DeleteNote("groceries")
    assert delete_note("delete the meeting") is None
