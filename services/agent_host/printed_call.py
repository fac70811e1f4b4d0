"""A tool call that a model wrote as words instead of making it, as models that were not trained for tools do. Pure.

Such a reply reads as if something had been done. The forms are those that Llama, Qwen, Mistral and their kind were
taught as text: an object with the tool's name and its arguments, fenced, tagged or in a list, or a call as in Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agent_host.providers.protocol import ModelReply, ModelRequest

_OBJECT: Final = re.compile(r"\{\s*\"")
_MOST_OBJECTS: Final = 50
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_PYTHONIC: Final = re.compile(
    r"\s*(?:```\w*\s*)?\[?\s*([A-Za-z0-9_-]{1,64})\(([^()]*\w\s*=[^()]*)?\)\s*\]?\s*(?:```)?\s*"
)


def printed_call(request: ModelRequest, reply: ModelReply) -> str | None:
    """Returns the name of an offered tool whose call stands in a reply's words, None when there is none.

    A reply that calls tools as it should is not looked at.
    """
    offered = {tool.name for tool in request.tools}
    if reply.tool_uses or not offered:
        return None
    whole = _PYTHONIC.fullmatch(reply.text)
    names = [whole[1]] if whole else list(_called(reply.text))
    return next((name for name in names if name in offered), None)


def _called(text: str) -> Iterator[str]:
    decoder = json.JSONDecoder()
    for number, start in enumerate(_OBJECT.finditer(text)):
        if number == _MOST_OBJECTS:
            return
        try:
            value, _ = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        yield from _names(value)


def _names(value: Mapping[str, Any]) -> Iterator[str]:
    function = value.get("function")
    inner = function if isinstance(function, Mapping) else value
    name = inner.get("name", function)
    if isinstance(name, str) and any(key in inner for key in _ARGUMENTS):
        yield name
