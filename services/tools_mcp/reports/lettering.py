"""How wide a text is in a chart, by kinds of characters: the page has no script that could measure it. Pure.

Widths are pixels at the charts' size of 13, those of a wide sans serif, so that a text hardly ever takes more.
"""

import unicodedata

_FULL, _WIDE, _CAPITAL, _NARROW, _LETTER = 14.0, 13.0, 9.8, 4.8, 8.0
_WIDEST = frozenset("WMmw@%—…&")
_NARROWEST = frozenset("ijlI.,:;'|! ()[]")


def width(text: str) -> float:
    """Return how many pixels a text takes at most."""
    return sum(map(_width_of, text))


def shortened(text: str, room: float) -> str:
    """Return a text, or its beginning with an ellipsis, in at most `room` pixels."""
    return text if width(text) <= room else text[: _fitting(text, room - _WIDE)].rstrip() + "…"


def wrapped(text: str, room: float, most: int) -> list[str]:
    """Return a text in at most `most` lines of `room` pixels, broken between words where there are any."""
    rest = " ".join(text.split())
    lines: list[str] = []
    while len(lines) < most - 1 and width(rest) > room:
        fits = max(1, _fitting(rest, room))
        space = rest.rfind(" ", 1, fits + 1)
        end = space if space > 0 else fits
        lines.append(rest[:end])
        rest = rest[end:].lstrip()
    return [*lines, shortened(rest, room)]


def _fitting(text: str, room: float) -> int:
    """Return how many characters from the beginning fit."""
    taken = 0.0
    for count, character in enumerate(text):
        taken += _width_of(character)
        if taken > room:
            return count
    return len(text)


def _width_of(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character > "\uffff":
        return _FULL
    if character in _WIDEST:
        return _WIDE
    if character in _NARROWEST:
        return _NARROW
    return _CAPITAL if character.isupper() else _LETTER
