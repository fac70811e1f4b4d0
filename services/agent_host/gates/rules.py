"""Which messages plainly need no memory: greetings, arithmetic, pure calendar commands. Pure; no model, no delay.

A rule speaks only where the whole message fits it. Anything else is for the model's gate, or is searched for.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_CHARACTERS: Final = 200
"""A longer message is not plain, whatever it begins with."""

_GREETING: Final = re.compile(
    r"(?:(?:hi|hello|hey|hallo|hola|bonjour|ciao|moin|good (?:morning|afternoon|evening|night)"
    r"|guten (?:morgen|tag|abend)|thanks?(?: you)?(?: (?:so|very) much| a lot)?|danke|merci|gracias|bye|goodbye|see you"
    r"|ok(?:ay)?|great|cool|fine|well done|how are you(?: doing)?|nice|perfect|there|prometheus|everyone)"
    r"(?:[\s,.!?]+|$))+",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(r"^(?:what(?:'s|\u2019s| is)|how much is|calculate|compute|work out)\s+", re.IGNORECASE)
_SUM: Final = re.compile(
    r"(?:[\d.,()+\-*/\u00d7\u00f7^%=?\s]|\b(?:plus|minus|times|divided by|multiplied by|percent of|of|squared|x)\b)+",
    re.IGNORECASE,
)
_OPERATOR: Final = re.compile(
    r"[+*/\u00d7\u00f7^%]|\d\s+-\s+\d|^\d+-\d+\W*$|\d\s*x\s*\d|plus|minus|times|by|percent|squared", re.IGNORECASE
)
_COURTESY: Final = re.compile(r"^(?:please|(?:can|could|would) you(?: please)?|prometheus)[,\s]+", re.IGNORECASE)
_CALENDAR: Final = re.compile(
    r"(?:book|schedule|reschedule|move|cancel|delete|add|create)\b.*\b(?:event|meeting|appointment|call|calendar"
    r"|today|tomorrow|tonight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{1,2}(?::\d\d)?\s?(?:am|pm)|\d{1,2}:\d\d)\b.*"
    r"|(?:what(?:'s|\u2019s| is)|show|list)\b.*\b(?:calendar|agenda|events?|appointments?)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_LEANS_ON_MEMORY: Final = re.compile(
    r"\b(?:usual|prefer\w*|favou?rite|remember\w*|always|again|last time|as before|like (?:i|we)|same|told|said)\b",
    re.IGNORECASE,
)


def needless(message: str, *, calendar: bool) -> str | None:
    """Returns why a message plainly needs no memory, None when it may; `calendar` lets calendar commands count too."""
    text = message.strip()
    if not text or len(text) > LONGEST_CHARACTERS:
        return None
    if _GREETING.fullmatch(text):
        return "a greeting"
    if _is_arithmetic(text):
        return "arithmetic"
    command = _COURTESY.sub("", text)
    if calendar and _CALENDAR.fullmatch(command) and not _LEANS_ON_MEMORY.search(command):
        return "a calendar command"
    return None


def _is_arithmetic(text: str) -> bool:
    term = _ASKED.sub("", text)
    return bool(_SUM.fullmatch(term) and sum(letter.isdigit() for letter in term) > 1 and _OPERATOR.search(term))
