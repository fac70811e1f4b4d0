"""Kinds of members: what one place of an entry may hold. The schema table is written in these words (RF-8).

A kind takes a decoded value and gives it back in the table's order, or says which member is wrong and what is accepted
there. It also describes itself as plain JSON, so that the table can be compared with the copy each verifier carries.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from receipt_writer.format.canonical import MAX_INTEGER
from receipt_writer.format.errors import SchemaError
from receipt_writer.format.instant import is_instant


class Kind:
    """What one member may hold."""

    def conform(self, value: object) -> object:
        """Return `value` with the members of its objects in the table's order.

        Raises:
            SchemaError: `value` is not of this kind; the path is relative to it.
        """
        raise NotImplementedError

    def describe(self) -> object:
        """Return this kind as plain JSON."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Integer(Kind):
    """An integer within bounds, both included."""

    minimum: int = 0
    maximum: int = MAX_INTEGER

    def conform(self, value: object) -> object:
        """Accept an integer within the bounds; a flag is none."""
        if type(value) is int and self.minimum <= value <= self.maximum:
            return value
        raise SchemaError("", f"an integer from {self.minimum} to {self.maximum}")

    def describe(self) -> object:
        """Return the bounds."""
        return {"integer": [self.minimum, self.maximum]}


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Any string. Its size in bytes is the canonical form's matter, not the table's."""

    def conform(self, value: object) -> object:
        """Accept a string."""
        if type(value) is str:
            return value
        raise SchemaError("", "a string")

    def describe(self) -> object:
        """Return the word for it."""
        return "text"


@dataclass(frozen=True)
class Pattern(Kind):
    """A string that a regular expression matches from end to end, no longer than `max_characters`.

    The expression uses only what every engine reads alike; `accepted` says the same in words.
    """

    expression: str
    accepted: str
    max_characters: int

    def conform(self, value: object) -> object:
        """Accept a string of the pattern."""
        if type(value) is str and len(value) <= self.max_characters and self._matches(value):
            return value
        raise SchemaError("", self.accepted)

    def describe(self) -> object:
        """Return the expression and the longest length."""
        return {"pattern": self.expression, "maxCharacters": self.max_characters}

    @cached_property
    def _matches(self) -> Callable[[str], object]:
        return re.compile(self.expression).fullmatch


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One string of a closed list."""

    values: tuple[str, ...]

    def conform(self, value: object) -> object:
        """Accept a listed string."""
        if type(value) is str and value in self.values:
            return value
        raise SchemaError("", f"one of: {' '.join(self.values)}")

    def describe(self) -> object:
        """Return the list."""
        return {"choice": list(self.values)}


@dataclass(frozen=True, slots=True)
class Flag(Kind):
    """True or false."""

    def conform(self, value: object) -> object:
        """Accept a flag; 0 and 1 are integers."""
        if isinstance(value, bool):
            return value
        raise SchemaError("", "true or false")

    def describe(self) -> object:
        """Return the word for it."""
        return "flag"


@dataclass(frozen=True, slots=True)
class Instant(Kind):
    """A time spelled `YYYY-MM-DDTHH:MM:SS.mmmZ`."""

    def conform(self, value: object) -> object:
        """Accept a real instant in that spelling."""
        if isinstance(value, str) and is_instant(value):
            return value
        raise SchemaError("", "a time as YYYY-MM-DDTHH:MM:SS.mmmZ")

    def describe(self) -> object:
        """Return the word for it."""
        return "instant"


@dataclass(frozen=True, slots=True)
class Base64(Kind):
    """Bytes of one exact length in standard base64 with padding, in the only spelling that re-encodes to itself."""

    size_bytes: int

    def conform(self, value: object) -> object:
        """Accept that spelling; no other length or alphabet, no missing padding, no unused bit that is set."""
        if isinstance(value, str) and self._is_canonical(value):
            return value
        raise SchemaError("", f"{self.size_bytes} bytes in standard base64, padded and canonical")

    def describe(self) -> object:
        """Return the length in bytes."""
        return {"base64": self.size_bytes}

    def _is_canonical(self, text: str) -> bool:
        try:
            data = base64.b64decode(text)
        except ValueError:
            return False
        return len(data) == self.size_bytes and base64.b64encode(data).decode() == text


@dataclass(frozen=True, slots=True)
class Nullable(Kind):
    """Another kind, or null."""

    kind: Kind

    def conform(self, value: object) -> object:
        """Accept null and what the other kind accepts."""
        if value is None:
            return None
        try:
            return self.kind.conform(value)
        except SchemaError as error:
            raise SchemaError(error.path, f"{error.accepted}, or null") from None

    def describe(self) -> object:
        """Return the other kind."""
        return {"nullable": self.kind.describe()}


@dataclass(frozen=True, slots=True)
class Member:
    """A named place of a record. An optional one is left out when it is absent; it is never null for that reason."""

    name: str
    kind: Kind
    optional: bool = False


@dataclass(frozen=True)
class Record(Kind):
    """An object with exactly these members."""

    members: tuple[Member, ...]

    def conform(self, value: object) -> dict[str, object]:
        """Accept an object with each member right and no other; give the members back in the table's order."""
        if not isinstance(value, dict):
            raise SchemaError("", "an object")
        ordered = {}
        for name, accept, is_optional in self._steps:
            if name in value:
                try:
                    ordered[name] = accept(value[name])
                except SchemaError as error:
                    raise error.within(name) from None
            elif not is_optional:
                raise SchemaError(name, "present")
        if len(ordered) != len(value):
            unknown = next(name for name in value if name not in ordered)
            raise SchemaError(unknown, "left out: there is no such member")
        return ordered

    def describe(self) -> object:
        """Return the members in order, an optional one with a question mark after its name."""
        return {"record": [[m.name + "?" * m.optional, m.kind.describe()] for m in self.members]}

    @cached_property
    def _steps(self) -> tuple[tuple[str, Callable[[object], object], bool], ...]:
        # Every entry passes here several times: the members are taken apart once.
        return tuple((member.name, member.kind.conform, member.optional) for member in self.members)


@dataclass(frozen=True, slots=True)
class Rows(Kind):
    """A list of one kind, the empty list included."""

    row: Kind

    def conform(self, value: object) -> object:
        """Accept a list with each row right; the rows keep their own order."""
        if not isinstance(value, list):
            raise SchemaError("", "a list")
        rows = []
        for index, row in enumerate(value):
            try:
                rows.append(self.row.conform(row))
            except SchemaError as error:
                raise error.within(f"[{index}]") from None
        return rows

    def describe(self) -> object:
        """Return the kind of a row."""
        return {"rows": self.row.describe()}


@dataclass(frozen=True, slots=True)
class IdRange(Kind):
    """A count `n` of entries in another chain, and the ids of the first and the last; all zero when there are none."""

    record: Record = Record((Member("n", Integer()), Member("firstId", Integer()), Member("lastId", Integer())))

    def conform(self, value: object) -> object:
        """Accept three counts, no id without a count."""
        members = self.record.conform(value)
        if members["n"] == 0 and (members["firstId"] or members["lastId"]):
            raise SchemaError("", "zero in firstId and lastId when n is 0")
        return members

    def describe(self) -> object:
        """Return the word for it."""
        return "idRange"
