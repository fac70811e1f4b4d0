"""A conversation as the prompt sees it, new or resumed."""

from __future__ import annotations

import pytest

from agent_host.chat_log import PastRow
from agent_host.providers.protocol import Message, Text
from agent_host.session import Session
from agent_host.tool_note import OLD_NOTE_CHARACTERS

NOTE = f"[tools used: notes_write {'x' * 2_000}]"


def rows(turns: int, *, outside: int | None = None) -> list[PastRow]:
    return [
        row
        for turn in range(turns)
        for row in (PastRow("user", f"m{turn}"), PastRow("assistant", f"r{turn}", outside=turn == outside))
    ]


def test_a_resumed_session_has_its_last_turns_in_order() -> None:
    session = Session.resumed("s_1", 2, rows(5))

    texts = [block.text for row in session.messages_with("now") for block in row.blocks if isinstance(block, Text)]
    assert texts == ["m3", "r3", "m4", "r4", "now"]
    assert [row.role for row in session.messages_with("now")] == ["user", "assistant", "user", "assistant", "user"]
    assert session.session_id == "s_1"


def test_a_resumed_reply_keeps_its_note_clipped() -> None:
    session = Session.resumed("s_1", 12, [PastRow("user", "write"), PastRow("assistant", f"Done.\n\n{NOTE}")])

    (block,) = session.turns[0].rows[1].blocks
    assert isinstance(block, Text)
    assert block.text.startswith("Done.\n\n[tools used: notes_write ")
    assert len(block.text) == len("Done.\n\n") + OLD_NOTE_CHARACTERS


def test_a_blank_reply_is_no_blank_row() -> None:
    session = Session.resumed("s_1", 12, [PastRow("user", "hi"), PastRow("assistant", "")])

    assert session.turns[0].rows[1] == Message("assistant", (Text("(nothing)"),))


def test_a_resumed_session_goes_on_like_any_other() -> None:
    session = Session.resumed("s_1", 2, rows(2))

    session.add_turn("m2", (Message("assistant", (Text("r2"),)),))

    assert session.last_words() == ("m1", "r1", "m2", "r2")


def test_a_session_nobody_spoke_in_has_no_last_words() -> None:
    assert Session.resumed("s_1", 12, []).last_words() == ()


@pytest.mark.parametrize(("outside", "shows"), [(None, False), (0, False), (3, True), (4, True)])
def test_words_of_others_count_as_long_as_a_prompt_shows_their_turn(outside: int | None, shows: bool) -> None:
    session = Session.resumed("s_1", 2, rows(5, outside=outside))

    assert session.shows_outside is shows


def test_a_turn_that_read_words_of_others_is_shown_until_it_leaves_the_prompt() -> None:
    session = Session("s_1", 2)
    shown = []
    for turn in range(4):
        session.add_turn(f"m{turn}", (), outside=turn == 0)
        shown.append(session.shows_outside)

    assert shown == [True, True, False, False]
