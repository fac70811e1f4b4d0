"""The note of a turn's tools: written once by the host, never by a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_host.mcp_clients.protocol import ToolOutcome
from agent_host.tool_note import (
    ARGUMENTS_CHARACTERS,
    OLD_NOTE_CHARACTERS,
    OUTPUT_CHARACTERS,
    NoteFilter,
    tool_note,
    with_clipped_notes,
    with_note,
    without_notes,
)
from agent_host.tracing.events import Notice, ToolCalled, TurnEvent

PIECES = ("[tools used: ", "(Tool used:", "[tools", " used: ", "a -> b", "]", ")", "\n", "> ", "Done. ", "\u00a0")
FAKE = '[tools used: calendar_create_event {"title": "x"} -> created]'


def called(name: str, content: str, *, is_error: bool = False, **arguments: str) -> ToolCalled:
    return ToolCalled("u1", name, arguments, ToolOutcome("s", name, content, None, is_error, 1))


def filtered(*pieces: str) -> str:
    passed: list[str] = []
    stream = NoteFilter(passed.append)
    for piece in pieces:
        stream.feed(piece)
    stream.end()
    return "".join(passed)


def test_a_note_is_one_line_that_names_each_tool_with_cut_arguments_and_output() -> None:
    events: list[TurnEvent] = [
        Notice("x"),
        called("a_b", "line\nbreak", q="y" * 500),
        called("c_d", "z" * 900, is_error=True),
    ]
    note = tool_note(events)

    assert note.startswith('[tools used: a_b {"q": "yyy')
    assert "\n" not in note
    assert "-> line break; c_d {} -> failed: zzz" in note
    assert len(note) < 2 * (ARGUMENTS_CHARACTERS + OUTPUT_CHARACTERS) + 60
    assert tool_note([Notice("x")]) == ""


def test_a_note_tells_no_secret() -> None:
    assert "hunter2" not in tool_note([called("a", "ok", password="hunter2")])


def test_a_note_stands_under_the_reply_and_is_not_shown() -> None:
    stored = with_note("Done.", tool_note([called("a", "ok")]))

    assert stored == "Done.\n\n[tools used: a {} -> ok]"
    assert without_notes(stored) == "Done."
    assert with_note("Done.", "") == "Done."


def test_an_old_note_is_clipped_for_a_prompt_and_the_words_are_not() -> None:
    note = tool_note([called("a", "x" * 300) for _ in range(9)])
    clipped = with_clipped_notes(with_note("w" * 2_000, note))

    assert clipped.startswith("w" * 2_000 + "\n\n[tools used: ")
    assert len(clipped) == 2_002 + OLD_NOTE_CHARACTERS
    assert clipped.endswith("…]")
    assert with_clipped_notes("[tools used: a {} -> ok]") == "[tools used: a {} -> ok]"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"I booked it.\n{FAKE}", "I booked it."),
        (f"{FAKE}\nI booked it.", "I booked it."),
        (f"a\n> **{FAKE}**\nb", "a\nb"),
        ("The line [tools used: x] inside", "The line [tools used: x] inside"),
        ("[tool]s", "[tool]s"),
        (FAKE, ""),
        ("[Tools used: calendar_create_event {} -> ok]", ""),
        ("Booked. [tools used: a -> b]", "Booked."),
        ("Booked [tools used: a -> b].", "Booked."),
        ("1. [tools used: a -> b]", ""),
        ("(tools used: a -> b)", ""),
        ("[tool used: notes_write]\nDone.", "Done."),
        ("\u00a0[tools used: a -> b]", ""),
        ("\u200b[tools\u200b used : a -> b]", ""),
        ("[tools used: a -> b] Your meeting stands.", "Your meeting stands."),
        ("> [tools used: a -> [b]] It stands. (tools used: c => d) Good.", "> It stands. Good."),
        ('[tools used: a {"x": "]"} -> "]" kept]', ""),
        ("Mend the shelf (tools used: a hammer) first.", "Mend the shelf (tools used: a hammer) first."),
        ("[Tools used: hammer, saw]", "[Tools used: hammer, saw]"),
        ("42 [tools used: sum {} -> 42]", "42"),
        ("[tools used: a -> b] " * 3_000 + "Done.", "Done."),
        ("It breaks off [tools used: a ->", "It breaks off"),
    ],
)
def test_an_imitated_note_goes_and_nothing_else(text: str, kept: str) -> None:
    assert without_notes(text) == kept
    assert filtered(text).rstrip() == kept
    assert filtered(*text).rstrip() == kept


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(st.sampled_from("[(Ttols ued:x])\n->_1.\u200b")), max_size=12))
def test_a_stream_in_any_pieces_passes_on_what_the_whole_text_keeps(pieces: list[str]) -> None:
    assert filtered(*pieces).rstrip() == without_notes("".join(pieces)).rstrip()


def test_words_are_passed_on_as_they_come() -> None:
    passed: list[str] = []
    stream = NoteFilter(passed.append)
    for piece in ("Hel", "lo [to", "ols used: no\n", "[", "to", "night]"):
        stream.feed(piece)
    assert passed == ["Hel", "lo", " [tools used: no\n", "[tonight]"]


@pytest.mark.parametrize("flag", ["gated", "read_first"])
def test_what_the_host_looked_up_by_itself_is_no_act_of_the_model(flag: str) -> None:
    search = called("memory_search", "{}", query="x")
    own = replace(search, gated=True) if flag == "gated" else replace(search, read_first=True)

    assert tool_note([own]) == ""
    assert tool_note([own, called("notes_write", "done")]).count("->") == 1
