import json
import signal
from pathlib import Path
from typing import Any

import pytest
from mcp.types import jsonrpc_message_adapter

from service_runtime.stdin_guard import UNREADABLE_METHOD, readable
from tests.service_runtime.processes import DIRECT, INITIALIZE, MODERN, Demo, Wire, environment, wire

HALF_A_PAIR = (
    '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":"demo_say","arguments":{"query":"\\ud83d"}}}'
)


def parse(line: bytes) -> object:
    return jsonrpc_message_adapter.validate_json(line, by_name=False)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"🎉 \\ud83c\\udf89"}}'.encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\r\n',
    ],
)
def test_a_line_the_sdk_can_read_passes_unchanged(line: bytes) -> None:
    assert readable(line, parse) is line


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b'{"id' + b'\\"' * 100_000,
        b'{"a":{"id":1,"method":"x"' + b"[" * 9999,
        b"\n",
        b"[]\n",
        b'{"id":1}\n',
        b'{"method":"x","params":{"a":"\\ud83d"}}\n',
        b"[" * 100_000,
    ],
)
def test_a_line_nobody_can_answer_passes_unchanged(line: bytes) -> None:
    assert readable(line, parse) is line


@pytest.mark.parametrize(
    "line",
    [
        (HALF_A_PAIR % ('"seven"', "")).encode(),
        b'{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":["a"]}',
        b'{"id":"seven","method":"tools/call","params":{}}',
        b'{"jsonrpc":"2.0","id":"seven","method":"x","params":{"a":' + b"[" * 500 + b"]" * 500 + b"}}",
        b'{"jsonrpc":"2.0","id":"seven","method":"x","params":{"a":' + b"[" * 2000 + b"]" * 2000 + b"}}\n",
        b'{ "method": "x", "params": {"a":' + b"[" * 2000 + b"]" * 2000 + b'}, "jsonrpc": "2.0", "id": "seven" }\n',
        b'{"jsonrpc":"2.0","id":"seven","method":"x","params":{"a":' + b"9" * 5000 + b"}}",
        b'{"params":{"id":1,"method":"y","a":' + b"9" * 5000 + b'},"id":"seven","method":"x"}',
    ],
)
def test_an_unreadable_request_becomes_one_that_will_be_refused(line: bytes) -> None:
    stand_in = json.loads(readable(line, parse))
    assert stand_in == {"jsonrpc": "2.0", "id": "seven", "method": UNREADABLE_METHOD, "params": {"_meta": {}}}


def test_the_stand_in_keeps_the_callers_era_and_is_itself_readable() -> None:
    meta = json.dumps(MODERN | {"half": "\ud83d"})
    line = readable((HALF_A_PAIR % (7, f'"_meta":{meta},')).encode(), parse)
    assert json.loads(line)["params"]["_meta"] == MODERN | {"half": "?"}
    parse(line)


def assert_refused(answer: dict[str, Any], number: int) -> None:
    assert answer["id"] == number
    assert answer["error"]["code"] == -32602
    assert answer["error"]["message"].startswith("The request cannot be read: it holds half of a surrogate pair")


def test_half_a_surrogate_pair_is_answered_in_both_eras_and_the_server_goes_on(demo: Demo, tmp_path: Path) -> None:
    call = {"name": "demo_say", "arguments": {"query": "— ★ 🎉 Привет 用户"}}
    with demo.wire(tmp_path) as legacy:
        legacy.ask(1, "initialize", INITIALIZE)
        legacy.send(HALF_A_PAIR % (2, ""))
        assert_refused(legacy.receive(), 2)
        assert legacy.ask(3, "tools/call", call)["result"]["structuredContent"]["query"] == "— ★ 🎉 Привет 用户"
    with demo.wire(tmp_path) as modern:
        modern.send(HALF_A_PAIR % (1, f'"_meta":{json.dumps(MODERN)},'))
        assert_refused(modern.receive(), 1)
        answer = modern.ask(2, "tools/call", call | {"_meta": MODERN})
        assert answer["result"]["structuredContent"]["client"] == "tester"


@pytest.mark.parametrize("head", ['{"jsonrpc":"2.0","id":2,"method":"tools/call","params"', '{"params"'])
def test_a_line_over_4_mib_is_refused_and_the_next_one_served(demo: Demo, tmp_path: Path, head: str) -> None:
    tail = "" if "id" in head else ',"jsonrpc":"2.0","id":2,"method":"tools/call"'
    with demo.wire(tmp_path) as server:
        server.ask(1, "initialize", INITIALIZE)
        server.send(f'{head}:{{"name":"demo_say","arguments":{{"query":"{"ü" * 2**22}"}}}}{tail}}}')
        assert_refused(server.receive(), 2)
        answer = server.ask(3, "tools/call", {"name": "demo_say", "arguments": {"query": "x", "note": "y" * 2**21}})
        assert answer["id"] == 3
        assert "error" not in answer


def test_a_request_nobody_can_parse_is_answered_in_the_newer_era_too(demo: Demo, tmp_path: Path) -> None:
    call = {"name": "demo_say", "arguments": {"query": "x"}, "_meta": MODERN}
    with demo.wire(tmp_path) as server:
        assert "result" in server.ask(1, "tools/call", call)
        server.send(f'{{"jsonrpc":"2.0","id":2,"method":"x","params":{"[" * 5000}{"]" * 5000}}}')
        answer = server.receive()
        assert (answer["id"], answer["error"]["code"]) == (2, -32602)
        assert "result" in server.ask(3, "tools/call", call)


def started(server: Wire) -> Wire:
    assert server.ask(1, "initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "demo"
    return server


def test_the_end_of_input_closes_the_store_and_the_process(demo: Demo, tmp_path: Path) -> None:
    with demo.wire(tmp_path) as server:
        started(server).end_input()
        assert server.wait() == 0
    assert (tmp_path / "demo" / "store.txt").read_text() == "closed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_store_and_the_process(tmp_path: Path, number: signal.Signals) -> None:
    with wire(DIRECT, environment(tmp_path), tmp_path) as server:
        started(server).process.send_signal(number)
        assert server.wait() == 0
        assert server.errors.read() == b"a print while building is no protocol\n"
    assert (tmp_path / "demo" / "store.txt").read_text() == "closed"


def test_a_blocked_tool_does_not_keep_the_process_alive(demo: Demo, tmp_path: Path) -> None:
    with demo.wire(tmp_path) as server:
        started(server).send('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo_block"}}')
        assert b"blocking\n" in iter(server.errors.readline, b"")
        server.process.terminate()
        assert server.wait() == 1


def test_only_protocol_reaches_stdout_and_children_cannot_read_it(demo: Demo, tmp_path: Path) -> None:
    with demo.wire(tmp_path) as server:
        answer = started(server).ask(2, "tools/call", {"name": "demo_print", "arguments": {}})
        assert answer["result"]["isError"] is False
        server.end_input()
        assert server.wait() == 0
        said = server.errors.read().decode()
        assert server.process.stdout is not None
        assert server.process.stdout.read() == b""
    assert "a print in a tool is no protocol" in said
    assert "EOFError" in said
