"""A conversation as the prompt sees it, new or resumed."""

from __future__ import annotations

from agent_host.providers.protocol import Message, Text
from agent_host.session import Session
from agent_host.tool_note import OLD_NOTE_CHARACTERS

NOTE = f"[tools used: notes_write {'x' * 2_000}]"


def rows(turns: int) -> list[tuple[str, str]]:
    return [pair for turn in range(turns) for pair in (("user", f"m{turn}"), ("assistant", f"r{turn}"))]


def test_a_resumed_session_has_its_last_turns_in_order() -> None:
    session = Session.resumed("s_1", 2, rows(5))

    texts = [block.text for row in session.messages_with("now") for block in row.blocks if isinstance(block, Text)]
    assert texts == ["m3", "r3", "m4", "r4", "now"]
    assert [row.role for row in session.messages_with("now")] == ["user", "assistant", "user", "assistant", "user"]
    assert session.session_id == "s_1"


def test_a_resumed_reply_keeps_its_note_clipped() -> None:
    session = Session.resumed("s_1", 12, [("user", "write"), ("assistant", f"Done.\n\n{NOTE}")])

    (block,) = session.turns[0][1].blocks
    assert isinstance(block, Text)
    assert block.text.startswith("Done.\n\n[tools used: notes_write ")
    assert len(block.text) == len("Done.\n\n") + OLD_NOTE_CHARACTERS


def test_a_blank_reply_is_no_blank_row() -> None:
    session = Session.resumed("s_1", 12, [("user", "hi"), ("assistant", "")])

    assert session.turns[0][1] == Message("assistant", (Text("(nothing)"),))


def test_a_resumed_session_goes_on_like_any_other() -> None:
    session = Session.resumed("s_1", 2, rows(2))

    session.add_turn("m2", (Message("assistant", (Text("r2"),)),))

    assert session.last_words() == ("m1", "r1", "m2", "r2")


def test_a_session_nobody_spoke_in_has_no_last_words() -> None:
    assert Session.resumed("s_1", 12, []).last_words() == ()
