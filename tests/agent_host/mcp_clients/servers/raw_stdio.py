"""A third-party style MCP server over stdio, in the protocol's older era, made of nothing but `json` and `sys`.

`raw_stdio.py FOLDER [MANNER …]`: every message it reads is appended to FOLDER/seen.jsonl, its process id is written to
FOLDER/pid. Manners: `mute` (never answers `initialize`), `slow` (answers it once FOLDER/go is there), `junk` (prints
what is no protocol), `deaf` (ignores the end of its input), `chatty` (writes to standard error), `toolless` (knows no
tools), `shabby` (lists some that are none).
What FOLDER/tools.json lists takes the place of its own tools, whenever it is asked.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
MANNERS = set(sys.argv[2:])
READ_ONLY = {"readOnlyHint": True}
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
KEYED = {"type": "object", "properties": {"idempotency_key": {"type": "string"}}}
ANSWER = {"type": "object", "properties": {"n": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["n"]}
TOOLS = [
    {"name": "get-echo", "description": "Says it again.", "inputSchema": NO_ARGUMENTS, "annotations": READ_ONLY},
    {"name": "write", "description": "Adds a line.", "inputSchema": NO_ARGUMENTS},
    {"name": "hang", "description": "Never answers.", "inputSchema": NO_ARGUMENTS},
    {"name": "die.write", "description": "Adds a line and dies.", "inputSchema": NO_ARGUMENTS},
    {"name": "die-once", "description": "Dies the first time.", "inputSchema": NO_ARGUMENTS, "annotations": READ_ONLY},
    {"name": "die_keyed", "description": "Adds a line; dies the first time.", "inputSchema": KEYED},
    {"name": "mumble", "description": "Breaks its word.", "inputSchema": NO_ARGUMENTS, "outputSchema": ANSWER},
    {"name": "flood", "description": "Says very much.", "inputSchema": NO_ARGUMENTS, "annotations": READ_ONLY},
    {"name": "announce", "description": "Says that its tools are others now.", "inputSchema": NO_ARGUMENTS},
    {"name": "refuse", "description": "Is refused by the protocol.", "inputSchema": NO_ARGUMENTS},
]
SHABBY = [
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "no-schema"},
    {"name": "", "inputSchema": NO_ARGUMENTS},
    {"name": "lists", "inputSchema": {"type": "object", "properties": []}},
    "a text",
]


def note(name: str, line: str) -> int:
    """Appends a line to a file; returns how many there are."""
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    return len((FOLDER / name).read_text(encoding="utf-8").splitlines())


def send(message: dict[str, Any]) -> None:
    """Writes one message."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Runs a tool; None gives no answer."""
    if name == "get-echo":
        return {"content": [{"type": "text", "text": arguments.get("text", "")}]}
    if name == "mumble":
        long = {"n": "a" * 60 + "!"}
        return {"content": "none" if arguments else [], "structuredContent": long}
    if name == "write":
        return {"content": [{"type": "text", "text": f"line {note('lines', 'write')}"}]}
    if name == "die.write":
        note("lines", "die")
        os._exit(3)
    if name in {"die-once", "die_keyed"}:
        if note(name, "called") == 1:
            os._exit(4)
        return {"content": [{"type": "text", "text": "alive"}]}
    return oddly(name)


def oddly(name: str) -> dict[str, Any] | None:
    """Runs a tool that does more than answer, or less."""
    if name == "flood":
        return {"content": [{"type": "text", "text": "é" * 300_000}], "structuredContent": {"n": ["é" * 300_000]}}
    if name == "announce":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return {"content": [{"type": "text", "text": "announced"}]}
    return None


def answer(message: dict[str, Any]) -> None:
    """Answers one request."""
    method, params = message["method"], message.get("params", {})
    result: dict[str, Any] | None = {}
    if method == "initialize" and "mute" in MANNERS:
        return
    while method == "initialize" and "slow" in MANNERS and not (FOLDER / "go").exists():
        time.sleep(0.01)
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        }
    elif method == "tools/list" and "toolless" not in MANNERS:
        page = int(params.get("cursor") or 0)
        bad = SHABBY if "shabby" in MANNERS else []
        others = FOLDER / "tools.json"
        if others.exists():
            result = {"tools": json.loads(others.read_text(encoding="utf-8"))}
        else:
            result = {"tools": [*bad, *TOOLS[page : page + 5]], **({"nextCursor": "5"} if page == 0 else {})}
    elif method == "tools/call" and params["name"] != "refuse":
        result = call(params["name"], params.get("arguments") or {})
    else:
        code = params.get("arguments", {}).get("code", -32601)
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": f"no {method}\nhere"}})
        return
    if result is not None:
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def main() -> None:
    """Serves until its input ends."""
    (FOLDER / "pid").write_text(str(os.getpid()))
    if "junk" in MANNERS:
        sys.stdout.write("Starting up…\n{not json}\n")
        sys.stdout.flush()
    if "chatty" in MANNERS:
        sys.stderr.write("raw server: listening\n")
    for line in sys.stdin:
        note("seen.jsonl", line.strip())
        message = json.loads(line)
        if "id" in message and "method" in message:
            answer(message)
    while "deaf" in MANNERS:
        time.sleep(60)


main()
