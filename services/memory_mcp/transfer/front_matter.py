"""YAML front matter: the lines between `---` and `---` at the head of a Markdown file. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_mcp.errors import InvalidArgumentError

MAX_CHARACTERS = 65_536
MAX_DEPTH = 20

_FENCE = "---"
_MEANT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ASTRAL = 0xFFFF


@dataclass(frozen=True)
class Document:
    """A Markdown file: what its front matter says, the front matter as it stands there, and the text below it."""

    fields: Mapping[str, Any]
    head: str
    body: str


def split(text: str, where: str) -> Document:
    """Returns a file's front matter and text; without front matter there are no fields.

    Raises:
        InvalidArgumentError: The front matter is no YAML mapping, too long, or uses YAML's aliases.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != _FENCE:
        return Document({}, "", text.strip())
    ends = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if ends is None:
        return Document({}, "", text.strip())
    head = "\n".join(lines[1:ends])
    return Document(_mapping(head, where), head, "\n".join(lines[ends + 1 :]).strip())


def written(fields: Mapping[str, Any]) -> str:
    """Returns front matter with these fields in their order; nothing that is none, and every text in quotes."""
    lines = [line for name, value in fields.items() if value is not None for line in _lines(name, value)]
    return "\n".join([_FENCE, *lines, _FENCE, ""])


def _lines(name: str, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        inside = [f"  {line}" for key, part in value.items() for line in _lines(key, part)]
        return [f"{name}:", *inside]
    if isinstance(value, list | tuple):
        return [f"{name}: [{', '.join(_quoted(str(part)) for part in value)}]"]
    if isinstance(value, bool):
        return [f"{name}: {str(value).lower()}"]
    return [f"{name}: {value if isinstance(value, int) else _quoted(str(value))}"]


def _quoted(text: str) -> str:
    """Returns a text in YAML's double quotes; what is not printable is escaped, so that any YAML reader takes it."""
    return '"' + "".join(_MEANT.get(character) or _plain(character) for character in text) + '"'


def _plain(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\U{code:08x}" if code > _ASTRAL else f"\\u{code:04x}"


def _mapping(head: str, where: str) -> Mapping[str, Any]:
    import yaml  # imported late: a server that imports nothing need not have it

    if len(head) > MAX_CHARACTERS:
        raise InvalidArgumentError(
            f"The front matter of {where} is too long; keep it under {MAX_CHARACTERS:,} characters."
        )
    try:
        depth = 0
        for event in yaml.parse(head, Loader=yaml.SafeLoader):  # one at a time: deep nesting costs its square to read
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > MAX_DEPTH:
                raise InvalidArgumentError(
                    f"The front matter of {where} uses YAML aliases or is nested over {MAX_DEPTH} deep; simplify it.",
                )
        fields = yaml.load(head, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"The front matter of {where} is no YAML; correct or remove it.") from error
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise InvalidArgumentError(f"The front matter of {where} is no list of names and values; correct or remove it.")
    return {str(name): value for name, value in fields.items()}
