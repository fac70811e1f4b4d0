"""The Markdown file format: YAML front matter between `---` lines, then the body (Obsidian's properties). Pure.

What is read are title, tags, aliases and created; everything else in a header, comments included, is kept as it stands.
So is a header that cannot be read: nothing is taken out of it, and nothing in it is changed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from tools_mcp.errors import InvalidInputError
from tools_mcp.texts import one_line, shown

_HEADER = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADER_CHARACTERS = 16_000
_PROPERTY_LINES = r"^{name}[ \t]*:.*\n(?:[ \t]+.*\n|-(?:[ \t].*)?\n)*"
_NOT_IN_TAG = re.compile(r"[^\w/-]+")
TAG_CHARACTERS = 60
"""Of a tag that is written; a longer one in a file stays."""
_PROPERTY = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:\{|[^\s#:-][^:\n]*:(?:\s|\Z))")
"""How properties begin, after comments; a text between two lines across the page seldom does."""
_NO_YAML = (yaml.YAMLError, ValueError, RecursionError)


@dataclass(frozen=True)
class Parts:
    """A file in its parts: `header + body` is the file."""

    header: str
    body: str
    title: str
    tags: tuple[str, ...]
    created: str
    aliases: tuple[str, ...] = ()


def split(text: str) -> Parts:
    """Return the parts of a file.

    Properties that are no YAML, or too many, are a header that says nothing. What begins with a fence and is plain text
    or a list is body: that fence is a line across the page.
    """
    match = _HEADER.match(text)
    properties = _properties(match) if match else None
    if match is None or (properties is None and (_is_text(match) or not _PROPERTY.match(match["yaml"]))):
        return Parts("", text, "", (), "")
    known = properties or {}
    return Parts(
        header=match[0],
        body=text[match.end() :],
        title=_scalar(known.get("title")),
        tags=tuple(_tags(known.get("tags") or known.get("tag"))),
        created=_scalar(known.get("created")),
        aliases=tuple(_aliases(known.get("aliases") or known.get("alias"))),
    )


def new_header(title: str, tags: Iterable[str], created: str) -> str:
    """Return the front matter of a new note."""
    properties: dict[str, Any] = {"title": title, "created": created}
    if chosen := list(tags):
        properties["tags"] = chosen
    return f"---\n{_dump(properties)}---\n"


def with_tags(header: str, tags: Iterable[str]) -> str:
    """Return a header with these tags instead of its own; every other line stays as it is.

    Raises:
        InvalidInputError: The header is written in a way in which only a person should change it.
    """
    return _with(header, "tags", list(tags))


def with_title(header: str, title: str) -> str:
    """Return a header with this title instead of its own; every other line stays as it is.

    Raises:
        InvalidInputError: The header is written in a way in which only a person should change it.
    """
    return _with(header, "title", title)


def has_same_form(header: str, other: str) -> bool:
    """Say whether two headers are readable and differ in nothing but what their texts say."""
    one, two = (_HEADER.match(text) for text in (header, other))
    if one is None or two is None or two.end() != len(other):
        return False
    before, after = _properties(one), _properties(two)
    return before is not None and after is not None and _form(before) == _form(after)


def clean_tags(tags: Iterable[str], most: int = TAG_CHARACTERS) -> tuple[str, ...]:
    """Return tags the way Obsidian takes them: without `#`, spaces as `-`, no duplicates.

    Raises:
        InvalidInputError: One has no letter or digit, or has over `most` characters.
    """
    cleaned: list[str] = []
    for tag in tags:
        plain = _plain_tag(one_line(tag, "tags", most))
        if not plain:
            raise InvalidInputError(f"The tag {shown(tag)} has no letter or digit; send words such as project-x.")
        if plain.casefold() not in {known.casefold() for known in cleaned}:
            cleaned.append(plain)
    return tuple(cleaned)


def _plain_tag(tag: str) -> str:
    return _NOT_IN_TAG.sub("-", tag.strip().lstrip("#")).strip("-/")


def _with(header: str, name: str, value: str | list[str]) -> str:
    match = _HEADER.match(header)
    written = _dump({name: value})
    if match is None:
        return f"---\n{written}---\n{header}"
    ending = "\r\n" if "\r\n" in match[0] else "\n"
    own = re.compile(_PROPERTY_LINES.format(name=name), re.MULTILINE)
    known = _properties(match)
    if known is None:
        raise InvalidInputError(
            f"The front matter is no YAML that can be read, so {name} cannot be set; correct it in the file first."
        )
    if own.search(match["yaml"]):
        lines = own.sub(lambda _: written.replace("\n", ending), match["yaml"], count=1)
    else:
        lines = match["yaml"] + ("" if name in known else written.replace("\n", ending))
    if _mapping(lines) != {**known, name: value}:
        raise InvalidInputError(
            f"The note's front matter has {name} in a form that only a person should change; edit it in the file."
        )
    return header[: match.start("yaml")] + lines + header[match.end("yaml") :]


def _properties(match: re.Match[str]) -> dict[str, Any] | None:
    """Return what a header says; none when it is too long to be read or no YAML mapping."""
    return _mapping(match["yaml"]) if match.end() <= _HEADER_CHARACTERS else None


def _is_text(match: re.Match[str]) -> bool:
    """Say whether what stands between two fences is YAML, but no mapping."""
    try:
        return match.end() <= _HEADER_CHARACTERS and not isinstance(_yaml(match["yaml"]), dict)
    except _NO_YAML:
        return False


def _mapping(text: str) -> dict[str, Any] | None:
    try:
        value = _yaml(text) if text.strip() else {}
    except _NO_YAML:
        return None
    return value if isinstance(value, dict) else None


def _yaml(text: str) -> Any:
    # BaseLoader builds nothing but texts, lists and mappings: `title: no` stays "no", a date stays as written.
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506


def _form(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _form(inside) for key, inside in value.items()}
    return [_form(inside) for inside in value] if isinstance(value, list) else ""


def _scalar(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _tags(value: Any) -> Iterable[str]:
    items = re.split(r"[,\s]+", value) if isinstance(value, str) else value
    for item in items if isinstance(items, list) else ():
        if isinstance(item, str) and (plain := _plain_tag(item)):
            yield plain


def _aliases(value: Any) -> Iterable[str]:
    items = [value] if isinstance(value, str) else value
    for item in items if isinstance(items, list) else ():
        if plain := _scalar(item):
            yield plain


def _dump(properties: dict[str, Any]) -> str:
    return str(yaml.safe_dump(properties, allow_unicode=True, sort_keys=False, width=1_000_000))
