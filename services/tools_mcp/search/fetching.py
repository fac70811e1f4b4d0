"""Fetching a page: each address on the way is judged, looked up once, judged again and only then connected to.

What the world does is an answer (`Page` or `Failure`), never an exception. Decisions: at most five redirects, none from
https to http, each hop asks its site's robots.txt first; a site whose robots.txt cannot be reached is left alone
(RFC 9309, 2.3.1.4); no cookies, no proxy, no second try.
"""

import asyncio
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urldefrag, urljoin

from tools_mcp.search.addresses import Refusal, Target, is_public, not_public, read_target
from tools_mcp.search.cache import Cache
from tools_mcp.search.decoding import UnreadableBodyError
from tools_mcp.search.network import Network, SystemNetwork
from tools_mcp.search.reader import PageReader, ReaderProcess
from tools_mcp.search.reading import Format, Raw, Reading, kind_of
from tools_mcp.search.robots import AGENT, Robots, read_robots
from tools_mcp.search.robots import MOST_BYTES as ROBOTS_BYTES

if TYPE_CHECKING:
    import ssl

    from tools_mcp.search.wire import Reply

MOST_BYTES = 5_000_000
MOST_REDIRECTS = 5
TIMEOUT_S = 19.0  # of the 20 s the tool promises
_PAGE_TTL_S = 900.0
_ROBOTS_TTL_S = 3600.0
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_READ, _UNREADABLE_YET = (200, 203), 202
_BLOCKED, _TOO_MANY = (401, 402, 403, 418, 451), 429
_ASKED = {
    "User-Agent": AGENT,
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,text/*;q=0.8,application/json;q=0.8",
}
Trouble: TypeAlias = Literal[
    "refused",  # the address, or where it leads, is not one to fetch
    "disallowed",  # the site's robots.txt asks not to
    "blocked",  # the site does not serve us
    "rate_limited",
    "timed_out",
    "failed",  # not reachable, or an error of its own
    "unreadable",  # a kind of content that is not read, or nothing in it
]


@dataclass(frozen=True)
class Page:
    """A page as it was read. `url` is where it was found in the end, `asked` where the way began."""

    asked: str
    url: str
    content_type: str
    format: Format
    reading: Reading
    fetched_at: datetime


@dataclass(frozen=True)
class Failure:
    """Why there is no page, in one sentence."""

    status: Trouble
    reason: str


@dataclass(frozen=True)
class Fetcher:
    """Fetches pages; the network, the reader and the clocks can be others in tests."""

    network: Network = field(default_factory=SystemNetwork)
    reader: PageReader = field(default_factory=ReaderProcess)
    trust: "ssl.SSLContext | None" = None
    """None for the certificates this system trusts."""
    timeout_s: float = TIMEOUT_S
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    pages: Cache[Page] = field(
        default_factory=lambda: Cache(_PAGE_TTL_S, 50, 4_000_000, lambda page: len(page.reading.text))
    )
    robots: Cache[Robots] = field(default_factory=lambda: Cache(_ROBOTS_TTL_S, 200, 4_000_000, _weight))

    async def fetch(self, url: str, form: Format) -> tuple[Page | Failure, bool]:
        """Return the page at an address, and whether it was one fetched a while ago."""
        target = read_target(urldefrag(url.strip()).url)
        if isinstance(target, Refusal):
            return Failure("refused", target.reason), False
        kept = self.pages.get((target.url, form))
        if kept is not None:
            return kept, True
        deadline = self.clock() + self.timeout_s
        try:
            async with asyncio.timeout(self.timeout_s):
                found = await self._page(target, form, deadline)
        except TimeoutError:
            found = Failure(
                "timed_out", f"{target.host} did not answer within {self.timeout_s:.0f} s; try again later."
            )
        if isinstance(found, Page):
            self.pages.put((target.url, form), found)
        return found, False

    async def _page(self, target: Target, form: Format, deadline: float) -> Page | Failure:
        found = await self._follow(target, asks_robots=True, most_bytes=MOST_BYTES)
        if isinstance(found, Failure):
            return found
        end, reply = found
        if trouble := _trouble(end, reply):
            return trouble
        content_type = reply.headers.get("content-type", "")
        kind = kind_of(content_type, reply.body)
        shown = content_type.partition(";")[0].strip()[:100]
        if kind is None or (kind == "pdf" and reply.is_cut):
            what = "a PDF over 5 MB" if kind == "pdf" else f"{shown or 'content of no known type'}"
            return Failure("unreadable", f"The page at {end.host} is {what}; only text, HTML and PDF to 5 MB are read.")
        raw = Raw(kind, reply.body, _charset(content_type), end.url, form)
        reading = await self.reader.read(raw, deadline - self.clock())
        if reading.problem:
            return Failure("unreadable", f"The page at {end.host} {reading.problem}; try another source.")
        if reply.is_cut and not reading.is_cut:
            reading = Reading(reading.text, reading.title, reading.published, is_cut=True)
        return Page(target.url, end.url, shown, form, reading, self.now())

    async def _follow(self, target: Target, *, asks_robots: bool, most_bytes: int) -> "tuple[Target, Reply] | Failure":
        """Ask for a page and go where it leads, at most `MOST_REDIRECTS` times."""
        for _ in range(MOST_REDIRECTS + 1):
            if asks_robots and (objection := await self._objection(target)):
                return objection
            reply = await self._ask(target, most_bytes)
            if isinstance(reply, Failure):
                return reply
            if reply.status not in _REDIRECTS or not reply.headers.get("location"):
                return target, reply
            following = _following(target, reply.headers["location"])
            if isinstance(following, Failure):
                return following
            target = following
        return Failure("failed", f"{target.host} redirects more than {MOST_REDIRECTS} times; nothing was fetched.")

    async def _ask(self, target: Target, most_bytes: int) -> "Reply | Failure":
        from tools_mcp.search import wire  # imported late: most searches fetch nothing

        addresses = await self._addresses(target)
        if isinstance(addresses, Failure):
            return addresses
        try:
            pinned = wire.Pinned(addresses, self.network)
            trust = self._trust if target.scheme == "https" else None
            return await wire.get(target, pinned, trust=trust, headers=_ASKED, most_bytes=most_bytes)
        except wire.Unreachable as error:
            return Failure("failed", f"{target.host} cannot be reached: {error.args[0]}.")
        except wire.TooSlow:
            return Failure("timed_out", f"{target.host} did not answer in time; try again later.")
        except UnreadableBodyError:
            return Failure("unreadable", f"The page at {target.host} is packed in a way that cannot be read.")

    async def _addresses(self, target: Target) -> "tuple[str, ...] | Failure":
        """Look a host up, once, and judge every address: one that is not public spoils them all."""
        if target.is_literal:
            return (target.host,)
        try:
            found = tuple(await self.network.resolve(target.host, target.port))
        except OSError:
            found = ()
        if not found:
            return Failure("failed", f"{target.host} was not found; check the address, or that this machine is online.")
        if not all(is_public(address) for address in found):
            return Failure("refused", not_public(target.host).reason)
        return found

    async def _objection(self, target: Target) -> Failure | None:
        """Return what the site's robots.txt has against a page; a site that cannot be asked is left alone."""
        kept = self.robots.get(target.origin)
        if kept is not None:
            return _against(kept, target)
        place = Target(target.scheme, target.host, target.port, "/robots.txt")
        found = await self._follow(place, asks_robots=False, most_bytes=ROBOTS_BYTES)
        rules = found if isinstance(found, Failure) else _rules(*found)
        if isinstance(rules, Failure):
            return rules
        self.robots.put(target.origin, rules)
        return _against(rules, target)

    @functools.cached_property
    def _trust(self) -> "ssl.SSLContext":
        import httpcore2

        return self.trust or httpcore2.default_ssl_context()


def _weight(rules: Robots) -> int:
    return sum(len(rule.pattern) + 100 for rule in rules.rules)


def _following(target: Target, location: str) -> Target | Failure:
    """Return where a redirect leads, judged like an address somebody sent."""
    try:
        url = urldefrag(urljoin(target.url, location.strip().replace(" ", "%20"))).url  # as browsers do
    except ValueError:
        url = ""
    following = read_target(url)
    if isinstance(following, Refusal):
        return Failure("refused", f"{target.host} redirects to an address that is not fetched. {following.reason}")
    if target.scheme == "https" and following.scheme == "http":
        return Failure("refused", f"{target.host} redirects from https to http, which is not followed.")
    return following


def _against(rules: Robots, target: Target) -> Failure | None:
    if rules.allows(target.path):
        return None
    return Failure("disallowed", f"{target.host} asks programs not to fetch this page (robots.txt).")


def _rules(end: Target, reply: "Reply") -> Robots | Failure:
    """Return the rules of a robots.txt, by how asking for it went (RFC 9309, 2.3.1)."""
    if reply.status in _READ:
        return read_robots(reply.body)
    if 300 <= reply.status < 500 and reply.status != _TOO_MANY:  # noqa: PLR2004 - the classes of RFC 9110
        return Robots()
    return Failure(
        "disallowed", f"{end.host} could not say what it allows (robots.txt: HTTP {reply.status}); try again later."
    )


def _trouble(target: Target, reply: "Reply") -> Failure | None:
    status = reply.status
    if status in _READ:
        return None
    if status == _TOO_MANY:
        return Failure("rate_limited", f"{target.host} had too many requests (HTTP 429); try again in some minutes.")
    if status in _BLOCKED or status == _UNREADABLE_YET:
        return Failure("blocked", f"{target.host} does not serve this page to programs (HTTP {status}).")
    return Failure("failed", f"{target.host} answered with HTTP {status}; check the address or try another source.")


def _charset(content_type: str) -> str:
    parameters = (part.partition("=") for part in content_type.split(";")[1:])
    return next((value.strip()[:60] for name, _, value in parameters if name.strip().lower() == "charset"), "")
