"""The file of @modelcontextprotocol/server-memory: a JSON object a line, entities and relations. Pure.

An entity's observations become a memory each, with the entity as subject; the entity's name is put in front where the
observation does not say it, so that each can be read and found by itself. A relation becomes a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.normal_form import normalised
from memory_mcp.transfer.bundle import Bundle
from memory_mcp.transfer.items import Batch, Collector, Manner, text_of
from memory_mcp.transfer.json_text import decoded, parsed

NAME = "reference"


def is_line(line: Any) -> bool:
    """Returns whether this is a line of such a file."""
    return isinstance(line, dict) and str(line.get("type")) in {"entity", "relation"}


def read(bundle: Bundle, manner: Manner) -> Batch:
    """Reads the file."""
    found = Collector(NAME, "server-memory", manner)
    for name, data in bundle.files.items():
        for where, line in _lines(name, decoded(data), found):
            if line.get("type") == "entity":
                _entity(found, where, line)
            elif line.get("type") == "relation":
                _relation(found, where, line)
            else:
                found.skip(where, "It is neither an entity nor a relation.")
    return found.batch()


def _lines(name: str, text: str, found: Collector) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{name} line {number}"
        try:
            fields = parsed(line, "The line")
        except InvalidArgumentError as error:
            found.skip(where, str(error))
            continue
        if isinstance(fields, dict):
            yield where, fields
        else:
            found.skip(where, "It is no object.")


def _entity(found: Collector, where: str, entity: Mapping[str, Any]) -> None:
    name, kind = text_of(entity, "name"), text_of(entity, "entityType")
    if name is None:
        found.skip(where, "The entity has no name.")
        return
    observations = entity.get("observations") or []
    if not isinstance(observations, list):
        found.skip(where, "The entity's observations are no list.")
        return
    for number, observation in enumerate(observations, start=1):
        body = observation
        if isinstance(observation, str) and observation.strip() and normalised(name) not in normalised(observation):
            body = f"{name}: {observation}"
        found.add(f"{where}, observation {number}", body, subject=name, tags=[kind] if kind else [])
    if not observations:
        found.add(where, f"{name} ({kind})" if kind else name, subject=name, tags=[kind] if kind else [])


def _relation(found: Collector, where: str, relation: Mapping[str, Any]) -> None:
    one, how, other = text_of(relation, "from"), text_of(relation, "relationType"), text_of(relation, "to")
    if one is None or how is None or other is None:
        found.skip(where, "The relation lacks from, relationType or to.")
        return
    found.add(where, f"{one} {how.replace('_', ' ')} {other}", subject=one, tags=["relation"])
