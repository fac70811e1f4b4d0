"""The date and the time, here and elsewhere, answered from the clock the provider was given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.routine import Request, Routine, Scene
from agent_host.providers.offline.times.clock import Clock
from agent_host.providers.offline.times.days import Day, resolve_day
from agent_host.providers.offline.times.format import show_day
from agent_host.providers.offline.times.pieces import find_time_words
from agent_host.providers.offline.times.zones import Zone, find_zone
from agent_host.providers.offline.wording import tidy

_IS = "(?:what(?:.?s| is)|tell me|do you know|give me)(?: me)?"
_NOW = "(?: (?:right )?now)?"
_TIME = pattern(
    one_of("what time is it", f"{_IS} the (?:current )?time", "time"),
    f"(?: is it)?{_NOW}(?: (?:in|at) (?P<place>[^?]+?))?{_NOW}",
)
_TODAY = pattern(
    one_of(
        "what (?:day|date|month|year|week)(?: of the week)? (?:is it|is today|do we have)",
        f"{_IS} (?:the |today.?s )?(?:date|day)(?: of the week)?(?: is it)?",
        "date",
    ),
    "(?: today)?",
)
_WHICH = pattern(
    one_of(
        "(?:what|which) (?:day|date)(?: of the week)? (?:is|was|will be|does)",
        f"{_IS} the date(?: of| on)?",
        "when is",
    ),
    " (?P<day>.+?)(?: fall(?: on)?| be)?",
)
_UNTIL = pattern("how (?:many days|long)(?: is it| are there| are left)? (?:until|till|to|before) (?P<day>.+)")
_ELSEWHERE = pattern(
    r"(?:what time|when) is (?P<when>.+) ",
    one_of(r"(?:in|at) (?P<place>[^?]+?)(?: time)?", "here", "for (?:me|us)", "(?:in )?(?:my|our) time"),
)


@dataclass(frozen=True)
class Convert:
    """Say what a clock time of one place is in another; "" is where the person is."""

    words: str
    origin: str
    place: str

    def run(self, scene: Scene) -> Routine:
        """Answers from the clock; the day named, else today, is the person's."""
        yield from ()
        origin, target = (find_zone(name) if name else scene.zone for name in (self.origin, self.place))
        found = find_time_words(self.words)
        clock, day = found.first(Clock), found.first(Day)
        date_there = resolve_day(day, scene.today) if day is not None else scene.today
        if origin is None or target is None or clock is None or date_there is None:
            return f"I know no time zone called “{self.place if target is None else self.origin}”."
        there = datetime.combine(date_there, clock.settle(None), tzinfo=origin)
        here = there.astimezone(target)
        return f"{there:%H:%M} ({origin.key}) is {here:%H:%M} on {show_day(here.date(), scene.today)} ({target.key})."


@dataclass(frozen=True)
class TellTime:
    """Say what time it is, here or in a place."""

    place: str

    def run(self, scene: Scene) -> Routine:
        """Answers from the clock."""
        yield from ()
        zone = find_zone(self.place) if self.place else scene.zone
        if zone is None:
            here = f"{scene.now.astimezone(scene.zone):%H:%M}"
            return f"I know no time zone called “{self.place}”. Here it is {here} ({scene.zone.key})."
        now = scene.now.astimezone(zone)
        return f"It is {now:%H:%M} on {show_day(now.date(), scene.today)} ({zone.key})."


@dataclass(frozen=True)
class TellDay:
    """Say which day a date is, or what the date of a day is; today without words for another."""

    words: str = ""

    def run(self, scene: Scene) -> Routine:
        """Answers from the clock."""
        yield from ()
        if not self.words:
            week = scene.today.isocalendar().week
            return f"Today is {show_day(scene.today, scene.today)} {scene.today.year}, week {week}."
        day = _resolved(self.words, scene)
        return f"That is {show_day(day, scene.today)} {day.year}." if day else f"There is no such date: {self.words}."


@dataclass(frozen=True)
class TellDaysUntil:
    """Say how many days are left until a date."""

    words: str

    def run(self, scene: Scene) -> Routine:
        """Answers from the clock."""
        yield from ()
        day = _resolved(self.words, scene)
        if day is None:
            return f"There is no such date: {self.words}."
        left = (day - scene.today).days
        return f"{left} day{'' if left == 1 else 's'} until {show_day(day, scene.today)} {day.year}."


def _resolved(words: str, scene: Scene) -> date | None:
    day = find_time_words(words).first(Day)
    return resolve_day(day, scene.today) if day is not None else None


def _only_day(words: str) -> bool:
    """Tells whether words name a day and nothing else."""
    found = find_time_words(words)
    return found.first(Day) is not None and not found.rest().strip(" ,.")


def _conversion(when: str, place: str) -> Request | None:
    """Returns what "3pm Berlin" in another place asks for; None when more than a time and a place is named."""
    words = find_time_words(when)
    named, rest = words.first(Zone), tidy(words.rest()).removeprefix("in ").removesuffix(" time")
    if words.first(Clock) is None or (rest and find_zone(rest) is None):
        return None
    return Convert(when, named.key if named is not None else rest, place)


def clock_question(text: str) -> Request | None:
    """Reads questions about the date and the time."""
    plain = text.rstrip(" ?.!")
    time = _TIME.fullmatch(plain)
    if time is not None:
        return TellTime((time["place"] or "").strip())
    elsewhere = _ELSEWHERE.fullmatch(plain)
    converted = _conversion(elsewhere["when"], elsewhere["place"] or "") if elsewhere is not None else None
    if converted is not None:
        return converted
    if _TODAY.fullmatch(plain):
        return TellDay()
    until = _UNTIL.fullmatch(plain)
    if until is not None and _only_day(until["day"]):
        return TellDaysUntil(until["day"])
    which = _WHICH.fullmatch(plain)
    return TellDay(which["day"]) if which is not None and _only_day(which["day"]) else None
