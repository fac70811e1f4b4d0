"""Prompt templates: `{{name}}` is replaced by an input, as data. Pure.

A value is inserted as JSON text, in one pass: whatever stands in it, braces and quotes too, stays one JSON value, is
never read as template again, and cannot end the place it was put in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from agent_host.providers.protocol import JsonValue

_BRACED: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def placeholders(template: str) -> tuple[str, ...]:
    """Returns the names between double braces, in their order, once each; without white space around them."""
    return tuple(dict.fromkeys(name.strip() for name in _BRACED.findall(template)))


def render(template: str, values: Mapping[str, JsonValue]) -> str:
    """Returns the template with each `{{name}}` replaced by the JSON text of that value, `null` when there is none."""
    return _BRACED.sub(lambda found: _as_data(values.get(found[1].strip())), template)


def _as_data(value: JsonValue) -> str:
    """Returns JSON text on one line; half surrogate pairs are no text and become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, default=dict)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
