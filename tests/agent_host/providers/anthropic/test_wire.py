from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_host.providers.anthropic.wire import (
    Kept,
    MalformedReplyError,
    build_prompt,
    check_tool_json,
    known_usage,
    read_reply,
    worth_keeping,
)
from agent_host.providers.protocol import (
    JsonValue,
    Message,
    ModelRequest,
    StopReason,
    Text,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)

MODEL = "claude-sonnet-5-5"
SCHEMA: dict[str, JsonValue] = {"type": "object", "properties": {}}
TOOLS = (ToolSpec("notes_read", "Reads a note.", SCHEMA), ToolSpec("notes_list", "Lists notes.", SCHEMA))
HELLO = Message("user", (Text("hello"),))
REQUEST = ModelRequest("Be kind.", (HELLO,), TOOLS, "auto", 500)
USE = ToolUse("toolu_1", "notes_read", {"id": "n_1"})
ANSWERED = Message("user", (ToolResult("toolu_1", "{}", is_error=False),))
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
RAW_USE = {"type": "tool_use", "id": "toolu_1", "name": "notes_read", "input": {"id": "n_1"}}

COUNTS = {"input_tokens": 12, "output_tokens": 33}


def _message(*content: dict[str, Any], stop_reason: str | None = "end_turn") -> dict[str, Any]:
    return {"model": MODEL, "content": list(content), "stop_reason": stop_reason, "usage": COUNTS}


def test_the_cache_is_asked_for_at_the_end_of_the_tools_and_of_the_system_prompt() -> None:
    params = build_prompt(MODEL, REQUEST, {}).params
    assert params["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert ["cache_control" in tool for tool in params["tools"]] == [False, True]


def _marks(blocks: Sequence[Mapping[str, Any]]) -> list[bool]:
    return ["cache_control" in block for block in blocks]


def test_what_changes_with_each_turn_stands_behind_the_marked_part_of_the_system_prompt() -> None:
    request = replace(REQUEST, system="Be kind.\n\nNow: Monday, 01:30.", lasting=len("Be kind."))
    system = build_prompt(MODEL, request, {}).params["system"]
    assert "".join(block["text"] for block in system) == request.system
    assert (system[0]["text"], _marks(system)) == ("Be kind.", [True, False])


def test_what_grows_is_marked_at_its_end_and_where_the_step_before_ended() -> None:
    said = Message("assistant", (Text("Hi."),))
    steps = (HELLO, said, HELLO, Message("assistant", (USE,)), ANSWERED)
    first = build_prompt(MODEL, replace(REQUEST, messages=steps[:3]), {}).params
    second = build_prompt(MODEL, replace(REQUEST, messages=steps), {}).params
    assert [_marks(row["content"]) for row in first["messages"]] == [[True], [False], [True]]
    assert [_marks(row["content"]) for row in second["messages"]] == [[False], [False], [True], [False], [True]]
    marks = [*second["tools"], *second["system"], *(block for row in second["messages"] for block in row["content"])]
    assert sum(_marks(marks)) == 4  # as many as the API takes


def test_a_request_without_tools_has_no_next_step_that_its_messages_would_be_cached_for() -> None:
    params = build_prompt(MODEL, replace(REQUEST, tools=()), {}).params
    assert _marks(params["messages"][0]["content"]) == [False]


def test_nothing_is_sent_that_current_models_refuse() -> None:
    params = build_prompt(MODEL, REQUEST, {}).params
    assert set(params) == {"model", "max_tokens", "messages", "system", "tools", "tool_choice"}


def test_an_empty_system_prompt_and_an_empty_tool_list_are_left_out() -> None:
    params = build_prompt(MODEL, replace(REQUEST, system=" ", tools=()), {}).params
    assert set(params) == {"model", "max_tokens", "messages"}


def test_tools_stay_in_the_prompt_when_they_are_turned_off() -> None:
    params = build_prompt(MODEL, replace(REQUEST, tool_choice="none"), {}).params
    assert params["tool_choice"] == {"type": "none"}
    assert len(params["tools"]) == 2


def test_blocks_become_the_apis_blocks_in_order() -> None:
    rows = (HELLO, Message("assistant", (Text("wait"), USE)), ANSWERED)
    messages = build_prompt(MODEL, replace(REQUEST, messages=rows, tools=()), {}).params["messages"]
    assert messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "wait"}, RAW_USE]}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": False, "content": "{}"}
    assert messages[2] == {"role": "user", "content": [result]}


def test_blank_text_and_messages_without_a_word_are_left_out_and_an_empty_result_stays() -> None:
    rows = (
        HELLO,
        Message("assistant", (Text(" \n"),)),
        Message("user", (Text("again"), Text(""))),
        Message("assistant", (USE,)),
        Message("user", (ToolResult("toolu_1", "", is_error=True),)),
    )
    messages = build_prompt(MODEL, replace(REQUEST, messages=rows, tools=()), {}).params["messages"]
    assert [message["role"] for message in messages] == ["user", "user", "assistant", "user"]
    assert messages[1]["content"] == [{"type": "text", "text": "again"}]
    assert messages[3]["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True}]


def test_half_a_surrogate_pair_does_not_make_the_conversation_unsendable() -> None:
    rows = (Message("user", (Text("odd \ud83d but fine"),)),)
    params = build_prompt(MODEL, replace(REQUEST, messages=rows), {}).params
    assert params["messages"][0]["content"][0]["text"] == "odd ? but fine"
    json.dumps(params, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("tool_use", "tool_use"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_full"),
        ("something_new", "end_turn"),
    ],
)
def test_every_stop_reason_has_its_word(told: str, meant: StopReason) -> None:
    assert read_reply(_message({"type": "text", "text": "ok"}, stop_reason=told)).stop_reason == meant


def test_a_new_stop_reason_beside_a_tool_call_means_that_the_tool_is_wanted() -> None:
    assert read_reply(_message(RAW_USE, stop_reason="something_new")).stop_reason == "tool_use"


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
def test_a_reply_that_was_cut_off_asks_for_no_tool(reason: str) -> None:
    reply = read_reply(_message({"type": "text", "text": "so"}, RAW_USE, stop_reason=reason))
    assert reply.blocks == (Text("so"),)


def test_usage_keeps_fresh_and_cached_tokens_apart() -> None:
    cached = {"cache_creation_input_tokens": 100, "cache_read_input_tokens": 2000}
    reply = read_reply({**_message(), "usage": {**COUNTS, **cached}})
    assert reply.usage == Usage(12, 33, cache_read_tokens=2000, cache_write_tokens=100)


@pytest.mark.parametrize(
    "broken",
    [
        _message(stop_reason=None),
        _message({**RAW_USE, "input": ["a list"]}, stop_reason="tool_use"),
        _message({**RAW_USE, "id": ""}, stop_reason="tool_use"),
        _message({**RAW_USE, "name": ""}, stop_reason="tool_use"),
        _message({"type": "tool_use", "input": {}}, stop_reason="tool_use"),
        _message({"type": "text", "text": None}),
        _message() | {"content": None},
        _message() | {"content": "words"},
        _message() | {"content": ["words"]},
        _message() | {"usage": None},
        _message() | {"usage": [1]},
        _message() | {"usage": {"input_tokens": 1}},
        _message() | {"usage": {**COUNTS, "output_tokens": "33"}},
        _message() | {"usage": {**COUNTS, "input_tokens": True}},
        _message() | {"usage": {**COUNTS, "input_tokens": -1}},
        _message() | {"usage": {**COUNTS, "cache_read_input_tokens": 1.5}},
    ],
)
def test_a_reply_that_breaks_the_contract_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(MalformedReplyError):
        read_reply(broken)


def test_what_can_be_read_of_a_failed_calls_counts_is_kept_and_later_totals_replace_it() -> None:
    first = known_usage({**COUNTS, "cache_read_input_tokens": "many"})
    assert first == Usage(12, 33)
    assert known_usage({"output_tokens": 40}, first) == Usage(12, 40)


@pytest.mark.parametrize("pieces", [["{"], ['{"a": '], ["[1]"], ["nonsense"]])
def test_streamed_arguments_must_be_one_whole_object(pieces: list[str]) -> None:
    with pytest.raises(MalformedReplyError):
        check_tool_json(pieces)


def test_a_tool_call_may_have_no_arguments_at_all() -> None:
    check_tool_json([""])
    check_tool_json(["{", "}"])


def test_thinking_goes_back_word_for_word_with_the_tools_result() -> None:
    message = _message(THINKING, RAW_USE, stop_reason="tool_use")
    reply = read_reply(message)
    kept = worth_keeping(message, reply)
    assert kept is not None
    first = build_prompt(MODEL, REQUEST, {})
    rows = (HELLO, Message("assistant", reply.blocks), ANSWERED)
    second = build_prompt(MODEL, replace(REQUEST, messages=rows), {first.position: kept})
    assert second.params["messages"][1]["content"] == [THINKING, RAW_USE]


@pytest.mark.parametrize(
    "changed",
    [
        replace(REQUEST, system="Be brief."),
        replace(REQUEST, tools=TOOLS[:1]),
        replace(REQUEST, messages=(Message("user", (Text("hullo"),)),)),
    ],
)
def test_thinking_is_left_out_once_anything_before_it_changed(changed: ModelRequest) -> None:
    kept = Kept((USE,), (THINKING, RAW_USE))
    position = build_prompt(MODEL, REQUEST, {}).position
    rows = (*changed.messages, Message("assistant", (USE,)), ANSWERED)
    prompt = build_prompt(MODEL, replace(changed, messages=rows), {position: kept})
    assert prompt.params["messages"][1]["content"] == [RAW_USE]


def test_thinking_is_left_out_when_the_reply_itself_was_edited() -> None:
    kept = Kept((USE,), (THINKING, RAW_USE))
    position = build_prompt(MODEL, REQUEST, {}).position
    rows = (HELLO, Message("assistant", (Text("edited"), USE)), ANSWERED)
    content = build_prompt(MODEL, replace(REQUEST, messages=rows), {position: kept}).params["messages"][1]["content"]
    assert THINKING not in content


def test_a_reply_the_seam_can_carry_is_not_kept() -> None:
    message = _message({"type": "text", "text": "hi"}, RAW_USE, stop_reason="tool_use")
    assert worth_keeping(message, read_reply(message)) is None
