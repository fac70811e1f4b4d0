"""A Messages API on this machine: real HTTP, real server-sent events, scripted replies.

It checks what the real API checks and hosts get wrong: a key (as bearer token or `x-api-key`), no sampling
parameters, no blank text, and that each `tool_use` is answered by its `tool_result` in the very next message.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

MODEL = "claude-sonnet-5-5"
KEY = "test-key-4711"


@dataclass(frozen=True)
class Answer:
    """A good reply. A `tool_use` block may carry `raw_input`: its arguments exactly as they are streamed."""

    blocks: Sequence[Mapping[str, Any]]
    stop_reason: str = "end_turn"
    usage: Mapping[str, int] = field(default_factory=lambda: {"input_tokens": 12, "output_tokens": 33})
    chunk_bytes: int | None = None  # cut each event into HTTP chunks of this many bytes, through characters if need be


@dataclass(frozen=True)
class Cut:
    """A stream that goes wrong after some events: the connection drops, ends politely, stalls, or tells an error."""

    answer: Answer
    after_events: int
    how: Literal["drop", "end", "stall", "error"]
    kind: str = "overloaded_error"


@dataclass(frozen=True)
class Failure:
    """An HTTP error. The SDK is told to retry after 5 ms so that tests do not wait."""

    status: int
    kind: str = "api_error"
    message: str = "it did not work"
    headers: Mapping[str, str] = field(default_factory=lambda: {"retry-after-ms": "5"})


@dataclass(frozen=True)
class Raw:
    """A body with status 200 exactly as it is sent, for what the API never promised to say."""

    body: bytes
    content_type: str = "application/json"


Step: TypeAlias = Answer | Cut | Failure | Raw
Script: TypeAlias = Step | Callable[[Mapping[str, Any]], Step]


@dataclass(frozen=True)
class Seen:
    """A request as it came; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def tool_use(call_id: str, name: str, arguments: Mapping[str, Any], raw_input: str | None = None) -> dict[str, Any]:
    """A tool_use block."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return block if raw_input is None else {**block, "raw_input": raw_input}


def raw_stream(*events: Mapping[str, Any]) -> Raw:
    """A stream of events that need not make sense."""
    told = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Raw(told.encode(), "text/event-stream")


class AnthropicServer:
    """The server; `requests` is what it was asked, `left` is set once a client went away in mid-reply."""

    def __init__(self, *script: Script) -> None:
        self.script = list(script)
        self.requests: list[Seen] = []
        self.left = asyncio.Event()
        self.url = ""
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            while (seen := await _read_request(reader)) is not None:
                self.requests.append(seen)
                if not await self._answer(self._step(seen), seen, reader, writer):
                    break
        except ConnectionError:
            self.left.set()
        finally:
            writer.close()
            del self._connections[task]

    async def hang_up(self) -> None:
        """Closes every connection."""
        for writer in self._connections.values():
            writer.transport.abort()
        await asyncio.gather(*self._connections)

    def _step(self, seen: Seen) -> Step:
        if answer := _told_at_once(seen):
            return answer
        if not self.script:
            return Failure(500, message="the script is over", headers={"x-should-retry": "false"})
        step = self.script[0] if callable(self.script[0]) else self.script.pop(0)
        return step(seen.body) if callable(step) else step

    async def _answer(self, step: Step, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; False ends the connection."""
        if isinstance(step, Failure):
            body = {"type": "error", "error": {"type": step.kind, "message": step.message}}
            await _write_json(writer, step.status, body, step.headers)
            return True
        if isinstance(step, Raw):
            await _write_whole(writer, 200, step.body, {"content-type": step.content_type})
            return True
        if not seen.body.get("stream"):
            await _write_json(writer, 200, _message(_whole(step)), {})
            return True
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        events = list(_events(_whole(step)))
        kept = events if isinstance(step, Answer) else events[: step.after_events]
        for event in kept:
            await _write_event(writer, event, _whole(step).chunk_bytes)
        if isinstance(step, Cut):
            return await self._go_wrong(step, reader, writer)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _go_wrong(self, cut: Cut, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if cut.how == "stall":
            await reader.read(1)  # nothing comes until the client goes away
            self.left.set()
            return False
        if cut.how == "error":
            error = {"type": "error", "error": {"type": cut.kind, "message": "told in mid-stream"}}
            await _write_event(writer, error, None)
        if cut.how != "drop":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        writer.transport.abort()
        return False


@asynccontextmanager
async def anthropic_server(*script: Script) -> AsyncIterator[AnthropicServer]:
    """Runs a server that plays the script, a step a request. A function as first step answers every request."""
    fake = AnthropicServer(*script)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield fake
    finally:
        server.close()
        await fake.hang_up()


def _whole(step: Answer | Cut) -> Answer:
    return step if isinstance(step, Answer) else step.answer


def _message(answer: Answer) -> dict[str, Any]:
    blocks = [{key: value for key, value in block.items() if key != "raw_input"} for block in answer.blocks]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": blocks,
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": answer.usage,
    }


def _events(answer: Answer) -> Iterator[dict[str, Any]]:
    opening = {**_message(answer), "content": [], "stop_reason": None, "usage": {**answer.usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": opening}
    yield {"type": "ping"}
    for index, block in enumerate(answer.blocks):
        start, deltas = _block_parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": answer.usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _block_parts(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block begins in a stream, and the deltas that fill it."""
    if block["type"] == "text":
        return text(""), [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    if block["type"] == "tool_use":
        raw = block.get("raw_input") or json.dumps(block["input"])
        start = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
        return start, [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(raw)]
    thought = {"type": "thinking_delta", "thinking": block["thinking"]}
    signature = {"type": "signature_delta", "signature": block["signature"]}
    return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signature]


def _pieces(whole: str) -> list[str]:
    third = max(1, len(whole) // 3)
    return [whole[start : start + third] for start in range(0, len(whole), third)]


def _told_at_once(seen: Seen) -> Failure | Raw | None:
    """Returns the answer to what is no good request for a message: a complaint, or what is known of the model."""
    key = seen.headers.get("authorization", "").removeprefix("Bearer ") or seen.headers.get("x-api-key")
    if key != KEY:
        return Failure(401, "authentication_error", f"invalid key {key}")
    if seen.path == f"/v1/models/{MODEL}":
        return Raw(json.dumps({"type": "model", "id": MODEL, "display_name": MODEL}).encode())
    if seen.path != "/v1/messages":
        return Failure(404, "not_found_error", seen.path)
    if {"temperature", "top_p", "top_k"} & set(seen.body):
        return Failure(400, "invalid_request_error", "sampling parameters are not supported")
    if complaint := _message_problem(seen.body["messages"]):
        return Failure(400, "invalid_request_error", complaint)
    return None


def _message_problem(messages: Sequence[Mapping[str, Any]]) -> str | None:
    for index, message in enumerate(messages):
        blocks = [block for block in message["content"] if isinstance(block, Mapping)]
        if not blocks:
            return f"messages.{index}: content is empty"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return f"messages.{index}: text content blocks must contain non-whitespace text"
        asked = {block["id"] for block in blocks if block["type"] == "tool_use"}
        following = messages[index + 1]["content"] if index + 1 < len(messages) else []
        answered = {block["tool_use_id"] for block in following if block["type"] == "tool_result"}
        if asked != answered:
            return f"messages.{index}: tool_use ids without tool_result, or the other way round: {asked ^ answered}"
    return None


async def _read_request(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(first.split(" ")[1], headers, json.loads(body or b"{}"))


async def _write_json(writer: asyncio.StreamWriter, status: int, body: object, headers: Mapping[str, str]) -> None:
    await _write_whole(writer, status, json.dumps(body).encode(), {"content-type": "application/json", **headers})


async def _write_whole(writer: asyncio.StreamWriter, status: int, data: bytes, headers: Mapping[str, str]) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: {len(data)}\r\n{lines}\r\n".encode() + data)
    await writer.drain()


async def _write_event(writer: asyncio.StreamWriter, event: Mapping[str, Any], chunk_bytes: int | None) -> None:
    data = f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
    size = chunk_bytes or len(data)
    for start in range(0, len(data), size):
        chunk = data[start : start + size]
        writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        await writer.drain()
