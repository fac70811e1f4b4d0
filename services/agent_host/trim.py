"""Sends a model less of what it has read already, so that a turn's cost does not grow with its steps. Pure.

First a whole report out of memory becomes its digest, then any other long result is cut, with a note of its full size
(agent.md row 11). What no call has read yet is never cut, a cut result is cut once, and the trace keeps all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_host.providers.protocol import Block, Message, ToolResult
from agent_host.report_digest import DIGEST_CHARACTERS, report_digest, report_in

UNCUT_CHARACTERS = 4_000
KEPT_CHARACTERS = 2_000
_KEPT_MEMBERS = ("id", "kind", "scope", "created_at", "origin", "untrusted")


def trimmed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Returns the conversation with results cut that the model has answered to; trimming it again changes nothing."""
    answered = max((at for at, message in enumerate(messages) if message.role == "assistant"), default=0)
    return (*map(_cut, messages[:answered]), *messages[answered:])


def _cut(message: Message) -> Message:
    blocks = tuple(_shorter(block) for block in message.blocks)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _shorter(block: Block) -> Block:
    if not isinstance(block, ToolResult) or len(block.content) <= 2 * DIGEST_CHARACTERS:
        return block
    if digest := _report_digest(block.content):
        return replace(block, content=digest)
    if len(block.content) <= UNCUT_CHARACTERS:
        return block
    note = f"\n[cut: the first {KEPT_CHARACTERS} of {len(block.content)} characters; ask again for the rest]"
    return replace(block, content=block.content[:KEPT_CHARACTERS] + note)


def _report_digest(content: str) -> str | None:
    """Returns a memory that is a report as JSON with its digest in place of its body; None for anything else."""
    memory = _memory(content)
    if memory is None or (report := report_in(str(memory.get("body", "")))) is None:
        return None
    kept = {name: memory[name] for name in _KEPT_MEMBERS if name in memory}
    return json.dumps({"memory": {**kept, "digest": report_digest(report)}}, ensure_ascii=False)


def _memory(content: str) -> Mapping[str, Any] | None:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return None
    found = answer.get("memory", answer) if isinstance(answer, dict) else None
    return found if isinstance(found, dict) and "body" in found else None
