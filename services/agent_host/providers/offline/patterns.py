"""How the intents write their patterns: one alternative a line, letter case aside."""

from __future__ import annotations

import re


def one_of(*alternatives: str) -> str:
    """Returns a pattern that matches any of some patterns."""
    return f"(?:{'|'.join(alternatives)})"


def pattern(*parts: str) -> re.Pattern[str]:
    """Compiles the parts as one pattern; letter case is ignored and "." matches line breaks too.

    An apostrophe is written ".?", because people type it straight, curly or not at all.
    """
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)
