from __future__ import annotations

import io
import json

import pytest

from agent_host.gateways.encoding import accept_every_character, escaped


class Window(io.TextIOWrapper):
    """A terminal of some encoding."""

    def isatty(self) -> bool:
        return True


def written(text: str, encoding: str, kind: type[io.TextIOWrapper]) -> bytes:
    raw = io.BytesIO()
    stream = kind(raw, encoding=encoding)
    accept_every_character(stream)
    stream.write(text)
    stream.flush()
    return raw.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "iso8859-5", "utf-8"])
def test_a_json_document_stays_one_in_every_encoding(encoding: str) -> None:
    told = {"reply": "é · … “quoted” Привет 日本 👩‍👧 \x85"}

    shown = written(json.dumps(told, ensure_ascii=False), encoding, io.TextIOWrapper)

    assert json.loads(shown.decode(encoding)) == told


def test_a_terminal_shows_what_looks_like_a_mark_it_lacks_and_the_escape_of_a_letter() -> None:
    assert written("a · b … “c” • ж", "ascii", Window) == b'a - b ... "c" * \\u0436'
    assert written("é ·", "latin-1", Window) == "é ·".encode("latin-1")


def test_half_a_character_is_spelled_out_and_ends_nothing() -> None:
    assert written("\ud83d!", "utf-8", Window) == b"\\ud83d!"
    assert escaped("👩") == "\\ud83d\\udc69"
