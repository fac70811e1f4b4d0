"""Words: what a sentence is about, how close two sentences are, and how a list or a sentence is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_STOP_WORDS = frozenset((
    "a", "about", "actually", "all", "am", "an", "and", "any", "anything", "are", "as", "at", "be", "been", "but",
    "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "her", "hers", "him", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "know", "me", "my", "mine", "of", "on", "or", "our", "please",
    "said", "say", "she", "so", "some", "tell", "than", "that", "the", "their", "them", "there", "these", "they",
    "this", "those", "to", "told", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose",
    "why", "will", "with", "would", "you", "your", "again", "now", "he", "us", "should", "everything", "something",
))  # fmt: skip
VERBS = frozenset((
    "is", "are", "was", "were", "has", "have", "prefer", "prefers", "like", "likes", "love", "loves", "hate", "hates",
    "live", "lives", "work", "works", "want", "wants", "need", "needs", "use", "uses", "meet", "meets", "start",
    "starts", "cost", "costs", "drink", "drinks", "eat", "eats", "own", "owns", "am", "means", "speaks", "speak",
))  # fmt: skip
"""Verbs that plain statements of fact are built on."""
_ENDINGS = ("ings", "ing", "ies", "ed", "es", "s", "e", "y")
_SHORTEST_STEM = 3
_DENIED = re.compile(r"\b(?:not|never|no|none|nobody|neither)\b|n['\u2019]t\b", re.IGNORECASE)
_NEXT_CLAUSE = re.compile(
    r"(?:,|\b(?:and|but|while|whereas)\b|(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)[.;!?](?=\s))\s*", re.IGNORECASE
)
_YOURS = {"my": "your", "our": "your", "mine": "yours", "me": "you", "myself": "yourself", "i": "you", "us": "you"}
_OWN = re.compile(rf"\b(?:{'|'.join(_YOURS)})\b", re.IGNORECASE)


def stem(word: str) -> str:
    """Returns a rough stem ("meetings" and "meet" give "meet"), enough to match what one person typed twice."""
    plain = word.casefold().replace("\u2019", "'").removesuffix("'s")
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= _SHORTEST_STEM:
            plain = plain.removesuffix(ending)
            break
    return plain[:-1] if len(plain) > _SHORTEST_STEM and plain[-1] == plain[-2] else plain


def content_words(text: str) -> tuple[str, ...]:
    """Returns the words that carry meaning, each once, in their order and spelling."""
    found: dict[str, str] = {}
    for word in _WORD.findall(text):
        plain = word.casefold().replace("\u2019", "'").removesuffix("'s").removesuffix("n't")
        if plain not in _STOP_WORDS and plain.partition("'")[0] not in _STOP_WORDS:
            found.setdefault(stem(word), word)
    return tuple(found.values())


def stems(text: str) -> frozenset[str]:
    """Returns the stems of the words that carry meaning."""
    return frozenset(stem(word) for word in content_words(text))


def says_same(one: str, other: str) -> bool:
    """Tells whether two sentences carry the same words in the same order, and both or neither of them denies it."""
    first, second = ([stem(word) for word in content_words(text)] for text in (one, other))
    return first == second and bool(_DENIED.search(one)) == bool(_DENIED.search(other))


def is_only_about(text: str, subject: str) -> bool:
    """Tells whether a sentence begins with a subject's words and goes on to no other subject."""
    wanted = stems(subject)
    begins = frozenset(stem(word) for word in content_words(text)[: len(wanted)])
    further = (subject_of(clause) or clause[:1].isupper() for clause in _NEXT_CLAUSE.split(text)[1:])
    return begins == wanted and not any(further)


def coverage(wanted: str, text: str) -> float:
    """Returns what part of the wanted words a text holds, 0 to 1; 0 when nothing is wanted."""
    words = stems(wanted)
    return len(words & stems(text)) / len(words) if words else 0.0


def common_start(one: str, other: str) -> tuple[str, ...]:
    """Returns the words two sentences begin with alike, case-folded."""
    pairs = zip(_WORD.findall(one.casefold()), _WORD.findall(other.casefold()), strict=False)
    shared: list[str] = []
    for left, right in pairs:
        if left != right:
            break
        shared.append(left)
    return tuple(shared)


def mirrored(text: str) -> str:
    """Returns a person's words about themselves as they are said back to them ("my sister" gives "your sister")."""
    return _OWN.sub(lambda match: _YOURS[match.group().casefold()], text)


def subject_of(statement: str) -> str:
    """Returns what a statement is about: its words before the verb ("the design team"), or "" when no verb is known."""
    words = statement.split()
    at = next((index for index, word in enumerate(words) if word.casefold() in VERBS), 0)
    return " ".join(words[:at])


def tidy(text: str) -> str:
    """Returns a text on one line, without the spaces and signs that were only around a command."""
    return " ".join(text.split()).strip(" ,;:-\u2013\u2014")


def capitalised(text: str) -> str:
    """Returns a text with a capital first letter; the rest stays as typed ("iPhone" inside stays "iPhone")."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Returns a text as a sentence: capital letter, full stop."""
    plain = capitalised(text.strip())
    return plain if not plain or plain[-1] in ".!?…" else f"{plain}."


def clip(text: str, longest: int) -> str:
    """Returns a text on one line, cut at a word with "…" when it is longer."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    head = line[: longest - 1]
    whole = line[longest - 1] == " " or " " not in head[longest // 2 :]
    return f"{head if whole else head.rpartition(' ')[0]}…"


def bullets(lines: Iterable[str]) -> str:
    """Returns lines as a list."""
    return "\n".join(f"- {line}" for line in lines)


def numbered(lines: Iterable[str]) -> str:
    """Returns lines as a numbered list."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def joined(words: Sequence[str]) -> str:
    """Returns "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
