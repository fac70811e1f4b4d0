"""The pieces are held to those that the usual library gives (`pieces.json`, made once with `tokenizers` 0.23.3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_mcp.embedding.packaged import vocabulary
from memory_mcp.embedding.wordpiece import MAX_PIECES, WordPiece, words

EXPECTED: dict[str, list[int]] = json.loads((Path(__file__).parent / "pieces.json").read_text())
PIECES = WordPiece(vocabulary())


@pytest.mark.parametrize("text", EXPECTED)
def test_a_text_has_the_pieces_that_the_usual_library_gives(text: str) -> None:
    assert PIECES.pieces(text) == EXPECTED[text]


def test_a_long_text_ends_with_the_last_mark_where_the_model_stops_reading() -> None:
    pieces = PIECES.pieces("word " * 1000)

    assert len(pieces) == MAX_PIECES
    assert (pieces[0], pieces[-1]) == (101, 102)


def test_a_mark_written_in_a_text_is_text() -> None:
    assert PIECES.pieces("[SEP]").count(102) == 1
    assert list(words("[SEP]")) == ["[", "sep", "]"]


def test_the_vocabulary_is_the_models() -> None:
    known = vocabulary()

    assert len(known) == 30_522
    assert (known["[PAD]"], known["[UNK]"], known["[CLS]"], known["[SEP]"], known["##s"]) == (0, 100, 101, 102, 2015)
