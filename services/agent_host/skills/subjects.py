"""Whether the subject of a message is something of the outside world: a company, product, technology or market. Pure.

Not outside is what is the person's own or at hand: "my notes", "the fridge", "Friday's standup", "it", "3 and 5". A
name, or a word of markets, makes a subject an outside one; a thing told by "the" alone is at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_host.skills.sentences import word_set

_DAYS: Final = word_set(
    "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag "
    "sonntag today tomorrow yesterday tonight heute morgen gestern january february march april may june july "
    "august september october november december januar februar märz mai juni juli oktober dezember"
)
_NOTHING: Final = word_set(
    "it this that these those them him me us you i we he she they yourself myself something anything everything "
    "nothing stuff things one ones both here there for in on at by to with until not next last as from than then "
    "mich mir dich dir uns euch ihn ihm sie es das dies diese dieses diesen nächste letzte"
)
"""What no subject begins with."""
_TALKS: Final = word_set(
    "shows show showed has have had suggests says said found finds indicates proves is was will tells"
)
"""Verbs: what stands before them was a noun, as in "research shows"."""
OWNERS: Final = word_set(
    "my our your his her mein meine meinen meinem meiner unser unsere unseren unserem dein deine deinen"
)
ARTICLES: Final = word_set("the der die das den dem des")
_A: Final = word_set(
    "a an any some all ein eine einen einem einer more new bitte please also auch mal mir quickly briefly"
)
_GERMAN: Final = word_set(
    "der die das den dem des und mit von für im auf zu zur zum mein meine meinen unser unsere ich wir"
)
_ASKING: Final = word_set("if whether why how when where what who which warum wie wann wo was wer welche")
_EXPLAINED: Final = word_set("how why wie warum")
_AT_HAND: Final = (
    ARTICLES
    | _A
    | OWNERS
    | word_set("i we you he she they it this that these those to much many long often far ich wir du er")
)
JOINTS: Final = word_set(
    "of for in on at with from to by about as and or vs versus against than like such since between after before "
    "near over under within without during moved is are was were has have did does do will can that which who "
    "whose und oder mit von für im in am auf bei zu zur zum aus als gegen ist sind hat haben"
)
"""Words that end a noun and what stands before it."""
_OF: Final = word_set("of for in on behind von für in bei zur zum")
_OWN: Final = word_set(
    "coffee tea cake food shopping grocery milk team project calendar agenda chat conversation meeting call "
    "standup note memory draft email mail inbox message appointment reminder event booking reservation schedule "
    "task todo list file folder document page line error bug build outage question answer day week weekend month "
    "morning afternoon evening trip holiday vacation party dinner lunch breakfast birthday anniversary wedding "
    "dentist doctor recipe fridge kitchen house flat apartment garden car door key room rent bill invoice receipt "
    "password phone number address photo picture weather time date homework notes memories progress spending "
    "expense budget sync review feelings mood sleep weight steps idea kalender termin notiz besprechung gespräch "
    "erinnerung nachricht aufgabe fehler zeile seite datei tag woche geburtstag urlaub wohnung rezept liste "
    "rechnung treffen stimmung wetter"
)
"""Things of a person's own day, as the noun that a subject is about; as what stands before it they tell nothing."""
_MARKET: Final = word_set(
    "maker manufacturer provider competitor competition competing rival market industry sector niche vendor "
    "supplier investor company startup firm product technology landscape trend pricing funding valuation revenue "
    "history future state latest best top pros cons alternative player brand customer ecosystem law act "
    "regulation effect impact benefit economics economy business konkurrent konkurrenz wettbewerb wettbewerber "
    "markt branche anbieter investor gründer"
)
_COMPOUND: Final = ("markt", "märkte", "branche", "industrie")
"""How German words of markets end."""
GIVEN_NAMES: Final = word_set(
    "ana anna anne amy alice alex andrea andy ben bob carla carl chris christine clara dan daniel dave david eva "
    "emma eric frank fred george hannah helen ian jack james jan jane jim joe john jonas jose julia kate laura "
    "lena lisa lucas lukas maria mark markus martin mary max mia michael mike mum mom dad nina oliver paul peter "
    "rob robert sam sara sarah simon sofia sophie stefan steve susan thomas tim tina tom"
)


def is_outside(words: Sequence[str]) -> bool:
    """Tells whether words, as they were written, are about something of the outside world."""
    told = [word.casefold() for word in words]
    while told and told[0] in _A:
        words, told = words[1:], told[1:]
    if not told or (told[0] in _NOTHING | _TALKS | JOINTS and told[0] not in _ASKING) or _bare(told[0]) in _DAYS:
        return False
    if told[0] in OWNERS:
        return any(_is_market(word) for word in told[1:4]) and not is_own(told[1:])
    if is_own(told[1:] if told[0] in _ASKING else told):
        return False
    return is_named(words) or not _is_at_hand(told)


def is_own(told: Sequence[str]) -> bool:
    """Tells whether the noun that a subject is about is one of a person's day, or no thing at all."""
    noun = [word for word in _noun(told) if not word.isdigit()]
    if not noun or all(word in ARTICLES for word in noun):
        return True
    if all(word.removesuffix("'s") in GIVEN_NAMES for word in noun):
        return True
    told_whose = noun[0] in ARTICLES or any(word.endswith("'s") for word in noun[:-1])
    ending = noun[-1:] if told_whose else noun  # "the agent memory" is at hand, "agent memory" a field
    return all(_bare(word) in _OWN | _DAYS for word in ending)


def _is_at_hand(told: Sequence[str]) -> bool:
    """Tells whether a subject without a name is one that both sides can point at."""
    if told[0] in ARTICLES:
        noun = _noun(told)
        if any(_is_market(word) for word in noun):
            return False
        rest = told[len(noun) :]
        return not (rest and rest[0] in _OF and is_outside(rest[1:]))
    if told[0] in _ASKING:
        explains = told[0] in _EXPLAINED and len(told) > 1 and told[1] not in _AT_HAND | GIVEN_NAMES
        return not explains and all(not _is_market(word) for word in told)
    return told[0].endswith("ing") and len(told) > 1 and told[1] in _AT_HAND


def is_named(words: Sequence[str]) -> bool:
    """Tells whether words hold a name that is none of a day or a person; in German text one with a digit at least."""
    german = any(word in _GERMAN for word in words)  # which writes every noun with a capital
    return any(
        ((word[0].isupper() and not german) or _is_mixed(word))
        and word != "I"
        and _bare(word.casefold()) not in _DAYS | _OWN
        and word.casefold().removesuffix("'s") not in GIVEN_NAMES
        for word in words
    )


def _is_mixed(word: str) -> bool:
    """Tells a name such as mem0 or iPhone."""
    return word[0].isalpha() and any(letter.isdigit() or letter.isupper() for letter in word[1:])


def _is_market(word: str) -> bool:
    return _bare(word) in _MARKET or word.endswith(_COMPOUND)


def _noun(told: Sequence[str]) -> Sequence[str]:
    """Returns the words up to the first that joins another thing to them."""
    end = next((at for at, word in enumerate(told) if word in JOINTS), len(told))
    return told[:end]


def _bare(word: str) -> str:
    """Returns a word without the ending that makes it many or someone's; coarse."""
    plain = word.removesuffix("'s")
    if plain in _OWN | _DAYS | _MARKET:
        return plain
    for ending in ("s", "en", "e", "n"):
        if plain.removesuffix(ending) in _OWN | _DAYS | _MARKET:
            return plain.removesuffix(ending)
    return plain[:-3] + "y" if plain.endswith("ies") else plain
