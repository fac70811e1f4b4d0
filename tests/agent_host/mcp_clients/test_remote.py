from __future__ import annotations

import json
from typing import Any

import pytest

from agent_host.mcp_clients.remote import RemoteTool, one_line, read_result, unsendable
from agent_host.providers.protocol import JsonValue

KEYED: dict[str, JsonValue] = {"type": "object", "properties": {"idempotency_key": {"type": "string"}}}
WORDS = [{"type": "text", "text": "short words"}]


def test_structured_output_is_read_in_place_of_the_text_beside_it() -> None:
    result = read_result(WORDS, {"name": "Müller", "n": [1, 2.5, None, True]}, is_error=False)
    assert result.content == '{"name":"Müller","n":[1,2.5,null,true]}'
    assert json.loads(result.content) == result.structured


def test_an_error_is_read_in_the_servers_words() -> None:
    assert read_result(WORDS, {"code": 3}, is_error=True).content == "short words"
    assert read_result([], {"code": 3}, is_error=True).content == '{"code":3}'
    assert read_result([], None, is_error=True).content == "The tool reported an error and did not say which."


def test_what_a_model_cannot_read_is_named() -> None:
    content: list[dict[str, Any]] = [
        *WORDS,
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "note://1", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "note://2", "blob": "AAAA"}},
        {"type": "resource_link", "name": "more", "uri": "note://3"},
    ]
    assert read_result(content, None, is_error=False).content.split("\n") == [
        "short words",
        "[image image/png, not text]",
        "inside",
        "[resource note://2, not text]",
        "[resource more: note://3]",
    ]


def test_only_reading_and_keyed_calls_may_be_repeated() -> None:
    assert RemoteTool("a", "", {"type": "object"}, read_only=True).may_repeat({})
    assert not RemoteTool("a", "", {"type": "object"}, read_only=False).may_repeat({})
    assert RemoteTool("a", "", KEYED, read_only=False).may_repeat({"idempotency_key": "k"})
    assert not RemoteTool("a", "", KEYED, read_only=False).may_repeat({"idempotency_key": None})
    assert not RemoteTool("a", "", {"type": "object"}, read_only=False).may_repeat({"idempotency_key": "k"})


@pytest.mark.parametrize("bad", ["half \ud83d", float("nan"), float("inf"), object(), {1: object()}])
def test_arguments_no_wire_can_carry_are_found_before_they_are_sent(bad: Any) -> None:
    assert unsendable({"deep": [{"x": bad}]}) is not None


def test_arguments_in_any_script_can_be_sent() -> None:
    assert unsendable({"text": "Grüße, 世界 🙂", "n": 1.5, "no": None}) is None


def test_a_servers_words_fit_in_one_sentence() -> None:
    assert one_line("no\n  such\ttool") == "no such tool"
    assert one_line(" ") == "it gave no reason"
    assert len(one_line("x" * 9000)) == 2001
