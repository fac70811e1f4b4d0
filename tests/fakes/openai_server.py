"""A server of chat completions on this machine: real HTTP, real server-sent events, scripted replies.

It checks what OpenAI checks and hosts get wrong: the key, words in every message, and that each tool call is answered
by a `tool` message before anything else is said. `raw_chunks` sends what other servers send instead.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

MODEL = "gpt-6-luna"
KEY = "test-key-0815"
USAGE = {"prompt_tokens": 12, "completion_tokens": 33, "total_tokens": 45}


@dataclass(frozen=True)
class Answer:
    """A good reply: its words, its tool calls as the API has them, why it ended."""

    words: str = ""
    calls: Sequence[Mapping[str, Any]] = ()
    finish_reason: str = "stop"
    usage: Mapping[str, Any] | None = field(default_factory=lambda: USAGE)
    refusal: str | None = None
    chunk_bytes: int | None = None  # cut each event into HTTP chunks of this many bytes, through characters if need be


@dataclass(frozen=True)
class Cut:
    """A stream that goes wrong after some events: the connection drops, ends politely, stalls, or tells an error."""

    answer: Answer
    after_events: int
    how: Literal["drop", "end", "stall", "error"]
    error: Mapping[str, Any] = field(default_factory=lambda: {"message": "told in mid-stream", "code": 502})


@dataclass(frozen=True)
class Failure:
    """An HTTP error. The SDK is told to retry after 5 ms so that tests do not wait."""

    status: int
    message: str = "it did not work"
    code: str | None = None
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


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """A tool call; its arguments are text, which need not be JSON."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice]}


def raw_chunks(*chunks: object, done: bool = True) -> Raw:
    """A stream of chunks that need not make sense."""
    told = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks)
    return Raw((told + "data: [DONE]\n\n" * done).encode(), "text/event-stream")


class OpenAiServer:
    """The server; `requests` is what it was asked, `left` is set once a client went away in mid-reply."""

    def __init__(self, *script: Script) -> None:
        self.script = list(script)
        self.requests: list[Seen] = []
        self.left = asyncio.Event()
        self.url = ""
        self.models: Sequence[str] | None = None  # what it lists; a path it does not know otherwise
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
        if seen.path == "/v1/models" and self.models is not None:
            listed = [{"id": name, "object": "model", "created": 1, "owned_by": "us"} for name in self.models]
            return Raw(json.dumps({"object": "list", "data": listed}).encode())
        if problem := _problem(seen):
            return problem
        if not self.script:
            return Failure(500, "the script is over", headers={"x-should-retry": "false"})
        step = self.script[0] if callable(self.script[0]) else self.script.pop(0)
        return step(seen.body) if callable(step) else step

    async def _answer(self, step: Step, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; False ends the connection."""
        if isinstance(step, Failure):
            error = {"message": step.message, "type": "invalid_request_error", "code": step.code, "param": None}
            await _write_whole(writer, step.status, json.dumps({"error": error}).encode(), step.headers)
            return True
        if isinstance(step, Raw):
            await _write_whole(writer, 200, step.body, {}, step.content_type)
            return True
        answer = step if isinstance(step, Answer) else step.answer
        if not seen.body.get("stream"):
            await _write_whole(writer, 200, json.dumps(whole(answer)).encode(), {})
            return True
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        counted = bool((seen.body.get("stream_options") or {}).get("include_usage"))
        events = [json.dumps(one, ensure_ascii=False) for one in _chunks(answer, counted=counted)] + ["[DONE]"]
        for event in events if isinstance(step, Answer) else events[: step.after_events]:
            await _write_event(writer, event, answer.chunk_bytes)
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
            await _write_event(writer, json.dumps({"error": cut.error}), None)
        if cut.how != "drop":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        writer.transport.abort()
        return False


@asynccontextmanager
async def openai_server(*script: Script) -> AsyncIterator[OpenAiServer]:
    """Runs a server that plays the script, a step a request. A function as first step answers every request."""
    fake = OpenAiServer(*script)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield fake
    finally:
        server.close()
        await fake.hang_up()


def whole(answer: Answer) -> dict[str, Any]:
    """An answer as one reply that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.words or None, "refusal": answer.refusal}
    if answer.calls:
        message["tool_calls"] = list(answer.calls)
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason, "logprobs": None}
    told = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
    return told if answer.usage is None else {**told, "usage": answer.usage}


def _chunks(answer: Answer, *, counted: bool) -> Iterator[dict[str, Any]]:
    """An answer as OpenAI streams it: the calls' pieces take turns, the counts come last and by themselves."""
    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(answer.words):
        yield chunk({"content": piece})
    for piece in _pieces(answer.refusal or ""):
        yield chunk({"refusal": piece})
    for index, one in enumerate(answer.calls):
        opening = {**one, "index": index, "function": {"name": one["function"]["name"], "arguments": ""}}
        yield chunk({"tool_calls": [opening]})
    pieces = [_pieces(one["function"]["arguments"]) for one in answer.calls]
    for turn in range(max(map(len, pieces), default=0)):
        for index, own in enumerate(pieces):
            if turn < len(own):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": own[turn]}}]})
    yield chunk({}, answer.finish_reason)
    if counted and answer.usage is not None:
        yield {**chunk({}), "choices": [], "usage": answer.usage}


def _pieces(text: str) -> list[str]:
    third = max(1, len(text) // 3)
    return [text[start : start + third] for start in range(0, len(text), third)]


def _problem(seen: Seen) -> Failure | None:
    if seen.headers.get("authorization") not in {f"Bearer {KEY}", "Bearer none"}:
        return Failure(401, f"Incorrect API key provided: {seen.headers.get('authorization')}")
    if seen.path != "/v1/chat/completions":
        return Failure(404, f"unknown path {seen.path}")
    if complaint := _message_problem(seen.body["messages"]):
        return Failure(400, complaint)
    return None


def _message_problem(messages: Sequence[Mapping[str, Any]]) -> str | None:
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"messages.{index}: no tool call waits for this result"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"messages.{index}: tool calls without results: {waiting}"
        waiting = [one["id"] for one in message.get("tool_calls", ())]
        if not waiting and not (message["content"] or "").strip():
            return f"messages.{index}: content is empty"
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


async def _write_whole(
    writer: asyncio.StreamWriter,
    status: int,
    data: bytes,
    headers: Mapping[str, str],
    content_type: str = "application/json",
) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in {"content-type": content_type, **headers}.items())
    writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: {len(data)}\r\n{lines}\r\n".encode() + data)
    await writer.drain()


async def _write_event(writer: asyncio.StreamWriter, event: str, chunk_bytes: int | None) -> None:
    data = f"data: {event}\n\n".encode()
    size = chunk_bytes or len(data)
    for start in range(0, len(data), size):
        piece = data[start : start + size]
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
