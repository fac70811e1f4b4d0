"""What counts as a message."""

from __future__ import annotations

import pytest

from agent_host.errors import UsageError
from agent_host.gateways.message import MESSAGE_LIMIT, accept_message, put_together


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("  hello \n", "hello"),
        (b"caf\xc3\xa9\r\n", "café"),
        ("one\r\ntwo", "one\ntwo"),
        ("tab\there", "tab\there"),
        ("日本語 🎉", "日本語 🎉"),
        ("x" * MESSAGE_LIMIT, "x" * MESSAGE_LIMIT),
    ],
)
def test_ordinary_messages_are_taken_with_outer_space_removed(raw: str | bytes, text: str) -> None:
    assert accept_message(raw) == text


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("x" * (MESSAGE_LIMIT + 1), "more than 100,000 characters"),
        (b"x" * 1_000_000, "more than 100,000 characters"),
        (("a" + "é" * 500_000).encode()[:400_001], "more than 100,000 characters"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("half \ud83d", "not UTF-8"),
        (b"\x7fELF\x02\x01", "control characters"),
        ("nul \x00 byte", "control characters"),
        ("esc \x1b[2J", "control characters"),
    ],
)
def test_anything_else_costs_one_sentence_that_says_what_to_send(raw: str | bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        accept_message(raw)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("prompt", "message", "piped", "expected"),
    [
        (None, "hello", None, "hello"),
        ("hello", None, None, "hello"),
        (None, None, b"from a pipe", b"from a pipe"),
        ("Sum this up:", None, b"a\nb", b"Sum this up:\n\na\nb"),
    ],
)
def test_a_command_line_and_a_pipe_make_one_message(
    prompt: str | None, message: str | None, piped: bytes | None, expected: str | bytes
) -> None:
    assert put_together(prompt, message, piped) == expected


def test_two_messages_or_none_are_refused() -> None:
    with pytest.raises(UsageError, match="two messages"):
        put_together("a", "b", None)
    with pytest.raises(UsageError, match="no message"):
        put_together(None, None, None)
