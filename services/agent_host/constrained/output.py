"""From a model's reply to a value: strict JSON, once. Pure.

What is refused here is what lets one reader see another value than the next: a name twice, a float, NaN, a number
beyond 2^53, half a surrogate pair, words around the JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, NoReturn

from agent_host.constrained.schema import Schema, value_fault
from agent_host.providers.protocol import JsonValue, ModelReply

OUTPUT_LIMIT: Final = 65_536
"""The most characters a model's output may have; a longer one is given up while it still streams."""

_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL)


class OutputError(ValueError):
    """A model's output that is not what its spec asks for; the message is a clause that quotes none of its text."""


def read_output(reply: ModelReply, schema: Schema) -> JsonValue:
    """Returns the value of a reply that satisfies the schema.

    Raises:
        OutputError: the reply is cut off, asks for tools, is no JSON, or does not satisfy the schema.
    """
    if reply.tool_uses:
        raise OutputError("the model asked for a tool, and none was offered")
    if reply.stop_reason not in {"end_turn", "stop_sequence"}:
        raise OutputError(f"the reply is not whole ({reply.stop_reason})")
    value = parse_output(reply.text)
    if fault := value_fault(value, schema):
        raise OutputError(fault)
    return value


def parse_output(text: str) -> JsonValue:
    """Returns the one JSON value of a text; a single code fence around it is taken off.

    Raises:
        OutputError: it is longer than `OUTPUT_LIMIT`, or no strict JSON.
    """
    if len(text) > OUTPUT_LIMIT:
        raise OutputError(f"the output has more than {OUTPUT_LIMIT} characters")
    fenced = _FENCED.fullmatch(text.strip())
    try:
        value: JsonValue = json.loads(
            fenced[1] if fenced else text,
            object_pairs_hook=_object,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except OutputError:
        raise
    except (ValueError, RecursionError) as error:
        raise OutputError("the output is not one JSON value") from error
    return value


def _object(pairs: Iterable[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {}
    for name, value in pairs:
        if name in members:
            raise OutputError("the output names a field twice")
        members[name] = value
    return members


def _no_float(_: str) -> NoReturn:
    raise OutputError("the output holds a float; integers and decimal strings only")
