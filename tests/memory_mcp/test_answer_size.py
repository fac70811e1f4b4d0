from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp.answer_size import BODY_BYTES, PAGE_BYTES, body_part, fitting, wire_bytes


def test_a_text_is_measured_as_it_travels() -> None:
    assert wire_bytes("abc") == 5
    assert wire_bytes("用户") == 8
    assert wire_bytes('"\n') == 6


def test_a_page_holds_what_fits_and_one_entry_in_any_case() -> None:
    assert fitting([PAGE_BYTES // 2, PAGE_BYTES // 2, 1], int) == (PAGE_BYTES // 2, PAGE_BYTES // 2)
    assert fitting([PAGE_BYTES * 2, 1], int) == (PAGE_BYTES * 2,)
    assert fitting([], int) == ()


def test_a_short_body_travels_whole() -> None:
    assert body_part("short", 0) == ("short", None)
    assert body_part("short", 2) == ("ort", None)
    assert body_part("short", 99) == ("", None)


@settings(max_examples=15)
@given(st.text(alphabet=st.sampled_from('a"\\用\x01\n🎉'), min_size=BODY_BYTES // 8, max_size=BODY_BYTES // 4))
def test_the_parts_of_a_long_body_fit_and_make_it_whole(piece: str) -> None:
    body = piece * 6
    parts, start = [], 0
    while True:
        part, following = body_part(body, start)
        assert len(json.dumps(part, ensure_ascii=False).encode()) <= BODY_BYTES
        parts.append(part)
        if following is None:
            break
        assert following > start
        start = following

    assert "".join(parts) == body
