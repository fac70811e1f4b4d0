"""Which messages plainly need no memory: greetings, arithmetic, pure calendar commands. Pure; no model, no delay.

A rule speaks only where the whole message fits it: a calendar command is plain when each of its words is. A name, "my",
"that" or any other word that memory may know more of is for the model's gate, or is searched for (agent.md row 28).
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
    r"[+*/\u00d7\u00f7^%]|\d\s+-\s+\d|^\d{1,3}-\d{1,3}\W*$|\d\s*x\s*\d|plus|minus|times|by|percent|squared",
    re.IGNORECASE,
)
_PHONE: Final = re.compile(r"(?<![\d.,])0\d|\+\d{2,3}[\s-]\d{3}|\d{4,}-\d|\d-\d{4,}")
_COURTESY: Final = re.compile(r"^(?:please|(?:can|could|would) you(?: please)?|prometheus)[,\s]+", re.IGNORECASE)
_COMMAND: Final = re.compile(
    r"(?:book|schedule|reschedule|move|cancel|delete|add|create|show|list|what(?:'s|\u2019s| is))(?:\s+me)?\b",
    re.IGNORECASE,
)
_OWN_CALENDAR: Final = re.compile(
    r"\bmy (?=(?:next |whole )?(?:calendar|agenda|schedule|day|week|events?|appointments?)\b)"
)
_BY_TITLE: Final = re.compile(r"(?<=^the )[a-z]+ (?=(?:appointment|meeting|call|event|class)\b)")
"""How an event that is there already is told by its title."""
_THERE: Final = ("reschedule", "move", "cancel", "delete")
_TIME: Final = re.compile(r"\b\d{1,2}(?::\d\d)?\s?(?:am|pm|h|o'clock)?(?:st|nd|rd|th)?\b")
_PLAIN_WORDS: Final = """
a an the at on in to from for until till by and of is me it please thanks event events meeting meetings call
appointment appointments calendar agenda schedule standup slot reminder free busy
today tomorrow tonight morning afternoon evening noon midnight next this week weeks month day days hour hours
minute minutes half quarter every daily weekly all new monday tuesday wednesday thursday friday saturday sunday
mon tue wed thu fri sat sun january february march april may june july august september october november
december class
"""
_PLAIN: Final = frozenset(_PLAIN_WORDS.split())
_OF_A_CALENDAR: Final = re.compile(
    r"\b(?:events?|meetings?|appointments?|call|calendar|agenda|today|tomorrow|tonight|\w+day|standup)\b|\d"
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
    return "a calendar command" if calendar and _is_plain_command(command) else None


def _is_plain_command(text: str) -> bool:
    """Tells whether a text tells the calendar what to do, in words that are the same for everybody."""
    command = _COMMAND.match(text)
    if command is None:
        return False
    rest = _OWN_CALENDAR.sub("", text[command.end() :].casefold().strip())
    if command[0].casefold().startswith(_THERE):
        rest = _BY_TITLE.sub("", rest)
    words = re.findall(r"[^\s,.!?;]+", _TIME.sub(" ", rest))
    return bool(_OF_A_CALENDAR.search(rest)) and all(word in _PLAIN for word in words)


def _is_arithmetic(text: str) -> bool:
    term = _ASKED.sub("", text)
    return bool(
        not _PHONE.search(term)
        and _SUM.fullmatch(term)
        and sum(letter.isdigit() for letter in term) > 1
        and _OPERATOR.search(term)
    )
