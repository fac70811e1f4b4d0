"""robots.txt as RFC 9309 has it: which group speaks to us, and whether its longest matching rule allows a path. Pure.

Written here rather than taken from a library: the standard library knows neither the longest match nor `*`, and others
turn a stranger's patterns into regular expressions, which a hostile file can make run for hours. Here the time is the
length of the file times the length of the path at worst.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

AGENT = "prometheus-agent"
MOST_BYTES = 512_000
_MOST_RULES = 5_000
_UNQUOTED = "/?%:@!$&'()*+,;=~-._[]#"
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"%(?:4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe]|3[0-9]|2[DdEe])")
_PRODUCT = re.compile(r"[A-Za-z_-]+")


@dataclass(frozen=True)
class Rule:
    """One line of a group; its pattern may hold `*` and end with `$`."""

    allows: bool
    pattern: str


@dataclass(frozen=True)
class Robots:
    """The rules that speak to us; without any, everything is allowed."""

    rules: tuple[Rule, ...] = ()

    def allows(self, path: str) -> bool:
        """Whether a path with its query may be fetched; of equally long rules the one that allows wins (2.2.2)."""
        plain = _normal(path)
        if plain == "/robots.txt":
            return True
        matching = [(len(rule.pattern), rule.allows) for rule in self.rules if _matches(rule.pattern, plain)]
        return max(matching)[1] if matching else True


def read_robots(body: bytes, agent: str = AGENT) -> Robots:
    """Return the rules of the groups that name the agent, else of those for `*`; what cannot be read is passed over."""
    text = body[:MOST_BYTES].decode("utf-8", errors="replace").removeprefix("\ufeff")
    found: dict[str, list[Rule]] = {}  # only the two names that matter, so a file of many names costs nothing
    speaks_to: set[str] = set()
    in_rules = False
    for key, value in _lines(text):
        if key == "user-agent":
            speaks_to = set() if in_rules else speaks_to
            in_rules = False
            if (name := _product(value)) in {agent.lower(), "*"}:
                speaks_to.add(name)
                found.setdefault(name, [])
        elif key in {"allow", "disallow"}:
            in_rules = True
            for name in speaks_to:
                if value and len(found[name]) < _MOST_RULES:
                    found[name].append(Rule(key == "allow", _normal(value)))
    return Robots(tuple(found.get(agent.lower(), found.get("*", ()))))


def _lines(text: str) -> Iterable[tuple[str, str]]:
    for line in re.split(r"\r\n|\r|\n", text):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _product(value: str) -> str:
    """Return the product token a group is for: `Bot` of `Bot/2.1`, in lower case; `*` stays (2.2.1)."""
    found = _PRODUCT.match(value)
    return found.group().lower() if found else value[:1]


def _normal(path: str) -> str:
    """Return a path in one spelling: what need not be escaped is not, the rest is, with upper-case digits (2.2.2)."""
    quoted = quote(_UNRESERVED.sub(_unescape, path), safe=_UNQUOTED)
    return _ESCAPED.sub(lambda found: found.group().upper(), quoted)


def _unescape(found: re.Match[str]) -> str:
    return unquote_to_bytes(found.group()).decode()


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches the beginning of a path; the earliest place for each part is always good enough."""
    is_whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not others:
        return not is_whole or at == len(path)
    for part in others[:-1]:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    last = others[-1]
    return (path.endswith(last) and len(path) - len(last) >= at) if is_whole else path.find(last, at) >= 0
