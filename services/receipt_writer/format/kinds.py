"""Kinds of members: what one place of an entry may hold. The schema table is written in these words (RF-8).

A kind judges a decoded value and answers with the exact member that is wrong and what is accepted there. It also
describes itself as plain JSON, so that the table can be compared with the copy that each verifier carries.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from receipt_writer.format.canonical import MAX_INTEGER
from receipt_writer.format.errors import SchemaError
from receipt_writer.format.instant import is_instant


class Kind:
    """What one member may hold."""

    def check(self, value: object) -> None:
        """Accept `value` in silence.

        Raises:
            SchemaError: `value` is not of this kind; the path is relative to it.
        """
        raise NotImplementedError

    def arrange(self, value: object) -> object:
        """Return `value` with the members of its objects in the table's order; what is wrong with it stays wrong."""
        return value

    def describe(self) -> object:
        """Return this kind as plain JSON."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Integer(Kind):
    """An integer within bounds, both included."""

    minimum: int = 0
    maximum: int = MAX_INTEGER

    def check(self, value: object) -> None:
        """Refuse everything but an integer within the bounds; a flag is none."""
        if type(value) is not int or not self.minimum <= value <= self.maximum:
            raise SchemaError("", f"an integer from {self.minimum} to {self.maximum}")

    def describe(self) -> object:
        """Return the bounds."""
        return {"integer": [self.minimum, self.maximum]}


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Any string.

    Its size in bytes is the canonical form's matter, not the table's.
    """

    def check(self, value: object) -> None:
        """Refuse everything but a string."""
        if not isinstance(value, str):
            raise SchemaError("", "a string")

    def describe(self) -> object:
        """Return the word for it."""
        return "text"


@dataclass(frozen=True)
class Pattern(Kind):
    """A string that a regular expression matches from end to end.

    The expression uses only what every engine reads alike; `accepted` says the same in words.
    """

    expression: str
    accepted: str
    max_characters: int | None = None

    def check(self, value: object) -> None:
        """Refuse everything but a string that is short enough and of the pattern."""
        if not isinstance(value, str) or not self._regex.fullmatch(value) or self._is_long(value):
            raise SchemaError("", self.accepted)

    def describe(self) -> object:
        """Return the expression, and the longest length when there is one."""
        return {"pattern": self.expression, "max": self.max_characters}

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.expression)

    def _is_long(self, value: str) -> bool:
        return self.max_characters is not None and len(value) > self.max_characters


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One string of a closed list."""

    values: tuple[str, ...]

    def check(self, value: object) -> None:
        """Refuse everything but a listed string."""
        if value not in self.values:
            raise SchemaError("", f"one of: {' '.join(self.values)}")

    def describe(self) -> object:
        """Return the list."""
        return {"choice": list(self.values)}


@dataclass(frozen=True, slots=True)
class Flag(Kind):
    """True or false."""

    def check(self, value: object) -> None:
        """Refuse everything but a flag; 0 and 1 are integers."""
        if not isinstance(value, bool):
            raise SchemaError("", "true or false")

    def describe(self) -> object:
        """Return the word for it."""
        return "flag"


@dataclass(frozen=True, slots=True)
class Instant(Kind):
    """A time spelled `YYYY-MM-DDTHH:MM:SS.mmmZ`."""

    def check(self, value: object) -> None:
        """Refuse everything but a real instant in that spelling."""
        if not isinstance(value, str) or not is_instant(value):
            raise SchemaError("", "a time as YYYY-MM-DDTHH:MM:SS.mmmZ")

    def describe(self) -> object:
        """Return the word for it."""
        return "instant"


@dataclass(frozen=True, slots=True)
class Base64(Kind):
    """Bytes of one exact length in standard base64 with padding, in the only spelling that re-encodes to itself."""

    size_bytes: int

    def check(self, value: object) -> None:
        """Refuse other lengths, other alphabets, missing padding and unused bits that are set."""
        if not isinstance(value, str) or not self._is_canonical(value):
            raise SchemaError("", f"{self.size_bytes} bytes in standard base64, padded and canonical")

    def describe(self) -> object:
        """Return the length in bytes."""
        return {"base64": self.size_bytes}

    def _is_canonical(self, text: str) -> bool:
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return False
        return len(data) == self.size_bytes and base64.b64encode(data).decode() == text


@dataclass(frozen=True, slots=True)
class Nullable(Kind):
    """Another kind, or null."""

    kind: Kind

    def check(self, value: object) -> None:
        """Refuse what is neither null nor of the other kind."""
        if value is not None:
            try:
                self.kind.check(value)
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


@dataclass(frozen=True, slots=True)
class Record(Kind):
    """An object with exactly these members, in this order."""

    members: tuple[Member, ...]

    def check(self, value: object) -> None:
        """Refuse a missing, unknown, misplaced or wrong member, at any depth; name the first."""
        if not isinstance(value, dict):
            raise SchemaError("", "an object")
        self._check_names(value)
        for member in self.members:
            if member.name in value:
                try:
                    member.kind.check(value[member.name])
                except SchemaError as error:
                    raise error.within(member.name) from None

    def arrange(self, value: object) -> object:
        """Return the members in order; unknown ones stand last, where `check` will name them."""
        if not isinstance(value, dict):
            return value
        known = {m.name: m.kind.arrange(value[m.name]) for m in self.members if m.name in value}
        return known | {name: member for name, member in value.items() if name not in known}

    def describe(self) -> object:
        """Return the members in order, an optional one with a question mark after its name."""
        return {"record": [[m.name + "?" * m.optional, m.kind.describe()] for m in self.members]}

    def _check_names(self, value: dict[str, object]) -> None:
        expected = [m.name for m in self.members if not m.optional or m.name in value]
        if list(value) == expected:
            return
        for member in self.members:
            if member.name not in value and not member.optional:
                raise SchemaError(member.name, "present")
        for name in value:
            if name not in expected:
                raise SchemaError(name, "left out: there is no such member")
        raise SchemaError("", f"an object with its members in this order: {' '.join(expected)}")


@dataclass(frozen=True, slots=True)
class Rows(Kind):
    """A list of one kind, the empty list included."""

    row: Kind

    def check(self, value: object) -> None:
        """Refuse everything but a list in which each row is of the kind."""
        if not isinstance(value, list):
            raise SchemaError("", "a list")
        for index, row in enumerate(value):
            try:
                self.row.check(row)
            except SchemaError as error:
                raise error.within(f"[{index}]") from None

    def arrange(self, value: object) -> object:
        """Return the rows in their own order, each arranged."""
        return [self.row.arrange(row) for row in value] if isinstance(value, list) else value

    def describe(self) -> object:
        """Return the kind of a row."""
        return {"rows": self.row.describe()}


@dataclass(frozen=True, slots=True)
class IdRange(Kind):
    """A count `n` of entries in another chain and the first and last of their ids; all zero when there are none.

    Entries of other turns may lie between, so the ids span at least `n`.
    """

    record = Record((Member("n", Integer()), Member("firstId", Integer()), Member("lastId", Integer())))

    def check(self, value: object) -> None:
        """Refuse a count that the two ids contradict."""
        self.record.check(value)
        n, first_id, last_id = cast("dict[str, int]", value).values()
        if n == 0 and (first_id or last_id):
            raise SchemaError("", "n, firstId and lastId all 0 when n is 0")
        if n and not 1 <= first_id <= last_id - n + 1:
            raise SchemaError("", "n ids from firstId (at least 1) to lastId (at least firstId + n - 1)")

    def arrange(self, value: object) -> object:
        """Return the members in order."""
        return self.record.arrange(value)

    def describe(self) -> object:
        """Return the word for it."""
        return "idRange"
