"""A rule under the heading "Learned rules" of SOUL.md. Pure; whatever else stands there stays as it is."""

from __future__ import annotations

import re
from typing import Final

from agent_host.errors import LessonError

HEADING: Final = "## Learned rules"
MOST_CHARS: Final = 8_000
MOST_RULE_CHARS: Final = 500
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+Learned rules[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_NEXT_HEADING: Final = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)


def one_rule(told: object) -> str:
    """Returns a rule on one line, at most 500 characters.

    Raises:
        LessonError: it is none.
    """
    rule = " ".join(told.split()).lstrip("-*# ") if isinstance(told, str) else ""
    if not rule or not rule.isprintable():
        raise LessonError("A rule is one sentence in plain words; send it as `rule`.")
    if len(rule) > MOST_RULE_CHARS:
        raise LessonError(f"A rule has at most {MOST_RULE_CHARS} characters; say it shorter.")
    return rule


def with_rule(soul: str, rule: str) -> str:
    """Returns SOUL.md with one more rule at the end of its learned ones, under a heading that is made when missing.

    Raises:
        LessonError: the rule is there, or the text would have more than 8,000 characters.
    """
    newline = "\r\n" if "\r\n" in soul else "\n"
    line = f"- {rule}{newline}"
    heading = _HEADING.search(soul)
    if heading is None:
        gap = "" if not soul else newline if soul.endswith(newline) else newline * 2
        learned = f"{soul}{gap}{HEADING}{newline}{newline}{line}"
    else:
        learned = _inserted(soul, heading.end(), line, newline)
    if line.rstrip() in {one.rstrip() for one in soul.splitlines()}:
        raise LessonError("That rule is in SOUL.md already; nothing was written.")
    if len(learned) > MOST_CHARS:
        raise LessonError(
            f"SOUL.md would have more than {MOST_CHARS:,} characters; ask the person to shorten it first."
        )
    return learned


def _inserted(soul: str, start: int, line: str, newline: str) -> str:
    """Returns the text with a line at the end of the section that the heading before `start` opens."""
    following = _NEXT_HEADING.search(soul, start)
    end = following.start() if following else len(soul)
    section, rest = soul[:end], soul[end:]
    body = section.rstrip("\r\n")
    tail = section[len(body) :].removeprefix(newline) if rest else ""
    if len(body) <= start:  # nothing under the heading yet
        body += newline
    return f"{body}{newline}{line}{tail}{rest}"
