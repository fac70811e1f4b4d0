"""Which words ask for research reports: list, show, make a page, compare."""

from __future__ import annotations

from agent_host.providers.offline.patterns import one_of, pattern
from agent_host.providers.offline.reports.requests import CompareReports, ListReports, RenderReport, ShowReport
from agent_host.providers.offline.routine import Request
from agent_host.providers.offline.wording import tidy

_ON = "(?:on|about|regarding|of|called|titled|named)"
_MINE = r"(?:(?:my|our|the|all|any|of|saved|research)\s+)*"
_LAST = "(?:(?:last|latest|newest|most recent) )?"
_LIST = pattern(
    one_of(
        "list", "show(?: me)?", "see", "view", "read", "which", "what(?: are)?", "do i have", "have i got", "are there",
        "find",
    ),
    rf"?\s*{_MINE}reports(?:\s+(?:do i have|do we have|are there|have i (?:got|saved)|list))?",
    rf"(?:\s+(?:do i have\s+)?{_ON}\s+(?P<about>.+))?",
)  # fmt: skip
_THE_REPORT = (
    rf"(?:the|my|our|that) {_LAST}(?P<whole>(?:whole|full|entire|complete) )?{_LAST}(?:research )?"
    rf"(?:report(?: {_ON} (?P<about>.+?))?|(?P<titled>[^:]{{1,100}}?) report)"
)
_ID = r"(?:report )?(?P<id>report-[0-9a-f]{16})"
_SHOW = pattern(
    one_of(
        "show", "open", "read", "display", "view", "see", "get", "find", "pull up", "summari[sz]e", "give", "tell",
        "what does", "what(?:.?s| is) in",
    ),
    rf"(?: me)?\s+(?:all of )?(?:{_THE_REPORT}|{_ID})(?: says?| again)?",
)  # fmt: skip
_IS_THERE = pattern(rf"(?:is there|do i have|have i got) an? (?:research )?report {_ON} (?P<about>.+)")
_RENDER = pattern(
    one_of("render", "print", "(?:make|create|build|give me|show me|write) an? (?:html |web )?page (?:of|for|from)"),
    rf"\s+(?:{_THE_REPORT}|{_ID})",
)  # fmt: skip
_AS_PAGE = pattern(
    "(?:export|turn|make|convert|open|show(?: me)?|render)",
    rf"\s+(?:{_THE_REPORT}|{_ID}) (?:as|into|to) (?:an? )?(?:html|web|page)(?: page| file)?",
)
_CHANGED = one_of(
    "(?:tell me |show me )?what(?:.?s| is| has| have| are| was)?(?: been)? (?:changed|changes|different|differs|new)",
    "(?:show me |list |tell me |what(?:.?s| is| are) )?(?:the )?(?:differences?|changes)", "compare", "diff",
)  # fmt: skip
_COMPARE = pattern(
    rf"{_CHANGED}(?: between| of| in)? (?:the |my )?(?:two )?(?:reports?|versions)(?: {_ON})? (?P<one>.+?)",
    rf" (?:and|with|to|versus|vs\.?|against) (?:the |my )?(?:(?:report|one)(?: {_ON})? )?(?P<other>.+)",
)
_COMPARE_NAMED = pattern(
    rf"{_CHANGED}(?: between| of| in)? (?:the |my )?(?P<one>[^:]{{1,100}}?) report",
    r" (?:and|with|to|versus|vs\.?|against) (?:the |my )?(?P<other>[^:]{1,100}?)(?: report)?",
)
_COMPARE_BOTH = pattern(
    rf"{_CHANGED}(?: between| of| in)? (?:the |my )?(?P<one>[^:]{{1,100}}?)",
    r" (?:and|with|to|versus|vs\.?) (?:the |my )?(?P<other>[^:]{1,100}?) reports?",
)
_COMPARE_IDS = pattern(
    rf"{_CHANGED}(?: between)? (?:report )?(?P<one>report-[0-9a-f]{{16}})",
    " (?:and|with|to) (?:report )?(?P<other>report-[0-9a-f]{16})",
)
_SINCE = pattern(
    rf"{_CHANGED} (?:since|in|with|between|from|of|for)?\s*",
    "(?:the |my )?(?:last |latest |previous |earlier |old |two |newest )*",
    rf"(?:research )?reports?(?: {_ON} (?P<about>.+))?",
)


def list_reports(text: str) -> Request | None:
    """Reads "list my reports", "do I have reports on solar power?"."""
    plain = text.rstrip(" ?.!")
    match = _LIST.fullmatch(plain) or _IS_THERE.fullmatch(plain)
    return ListReports(_named(match["about"])) if match is not None else None


def show_report(text: str) -> Request | None:
    """Reads "show the report on solar power"."""
    match = _SHOW.fullmatch(text.rstrip(" ?.!"))
    if match is None:
        return None
    return ShowReport(_named(match["about"] or match["titled"] or match["id"]), match["whole"] is not None)


def render_report(text: str) -> Request | None:
    """Reads "make a page of the report on solar power"."""
    plain = text.rstrip(" ?.!")
    match = _AS_PAGE.fullmatch(plain) or _RENDER.fullmatch(plain)
    return RenderReport(_named(match["about"] or match["titled"] or match["id"])) if match is not None else None


def compare_reports(text: str) -> Request | None:
    """Reads "what changed between the reports on X and Y?", "what changed since the last report on X?"."""
    plain = text.rstrip(" ?.!")
    since = _SINCE.fullmatch(plain)
    two = _COMPARE_IDS.fullmatch(plain) or _COMPARE.fullmatch(plain) or _COMPARE_NAMED.fullmatch(plain)
    two = two or (_COMPARE_BOTH.fullmatch(plain) if since is None else None)
    if two is not None:
        return CompareReports(_named(two["one"]), _named(two["other"]))
    return CompareReports(_named(since["about"])) if since is not None else None


def _named(text: str | None) -> str:
    return tidy(text or "").strip("\"“”'")
