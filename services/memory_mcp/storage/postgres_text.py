"""Text as PostgreSQL can keep it: its `text` has no NUL, so that character is written as an escape. Pure."""

from __future__ import annotations

from typing import overload

_ESCAPE = "\uf8ff"  # of the private use area; where it does occur in a text, it is escaped itself
_STORED = {"\0": f"{_ESCAPE}0", _ESCAPE: f"{_ESCAPE}1"}


@overload
def stored(text: str) -> str: ...
@overload
def stored(text: str | None) -> str | None: ...
def stored(text: str | None) -> str | None:
    """Returns a text in the form that is kept; none stays none."""
    if text is None or ("\0" not in text and _ESCAPE not in text):
        return text
    return text.replace(_ESCAPE, _STORED[_ESCAPE]).replace("\0", _STORED["\0"])


@overload
def restored(text: str) -> str: ...
@overload
def restored(text: str | None) -> str | None: ...
def restored(text: str | None) -> str | None:
    """Returns a text as it was before `stored`."""
    if text is None or _ESCAPE not in text:
        return text
    return text.replace(_STORED["\0"], "\0").replace(_STORED[_ESCAPE], _ESCAPE)
