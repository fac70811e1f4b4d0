"""A calendar on a CalDAV server (RFC 4791): one resource per series, written only over the version that was seen.

HTTP, authentication and XML are the `caldav` library's. What is deleted is kept in a trash folder here first.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin
from zoneinfo import ZoneInfo

import icalendar

from tools_mcp.calendar.account import Account
from tools_mcp.calendar.facts import Facts, facts_in, series_from
from tools_mcp.calendar.ics import Series, UnreadableError, decode, encode, series_in
from tools_mcp.calendar.identity import file_name
from tools_mcp.calendar.protocol import Snapshot, StoredSeries, seen
from tools_mcp.calendar.trash import Trash
from tools_mcp.disk import as_store_error
from tools_mcp.errors import ChangedError, StoreBusyError, StoreError

if TYPE_CHECKING:
    from caldav.collection import Calendar
    from caldav.davclient import DAVClient
    from caldav.response import DAVResponse

_TIMEOUT_S = 20
_AT_ONCE = 100  # resources asked for in one request
_WAIT_S = 60.0
_NOT_FOUND = 404
_FOUND = (200, 207)
_DONE = (200, 201, 204)
_GONE = (404, 410, 412)  # what If-Match and If-None-Match are answered with when somebody else was faster
_FORBIDDEN = 403
_BUSY = (429, 503)
_NO_CALDAV = "What PROMETHEUS_CALDAV_URL leads to is no CalDAV server; nothing was changed."
_ICS = "text/calendar; charset=utf-8"
_MULTIGET = (
    '<?xml version="1.0" encoding="utf-8"?><C:calendar-multiget xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">'
    "<D:prop><D:getetag/><C:calendar-data/></D:prop>{}</C:calendar-multiget>"
)
_CALENDAR_TYPE = "{urn:ietf:params:xml:ns:caldav}calendar"


@dataclass(frozen=True)
class _Resource:
    etag: str
    data: bytes
    series: tuple[StoredSeries, ...]
    broken: int


@dataclass
class RemoteCalendar:
    """The calendar of an account, with what was read of it kept until its ETags change."""

    account: Account
    zone: ZoneInfo
    trash_folder: Path
    _read: dict[str, _Resource] = field(default_factory=dict, repr=False)
    _url: str | None = None
    _client: "DAVClient | None" = field(default=None, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def _trash(self) -> Trash:
        return Trash(self.trash_folder, self.zone)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Snapshot]:
        """Let one thread of this process write at a time; what other programs write, ETags tell.

        Raises:
            StoreError: The server cannot be reached or refuses.
        """
        if not self._lock.acquire(timeout=_WAIT_S):
            raise StoreBusyError(
                "The CalDAV server is slow and other changes are waiting; nothing was changed, try again."
            )
        try:
            with as_store_error("calendar", "written"):
                yield self.snapshot()
        finally:
            self._lock.release()

    def snapshot(self) -> Snapshot:
        """Return all series; only resources whose ETag is new are fetched.

        Raises:
            StoreError: The server cannot be reached or refuses.
        """
        with self._lock, _reading():
            etags = self._etags()
            for gone in self._read.keys() - etags.keys():
                del self._read[gone]
            stale = [href for href, etag in etags.items() if href not in self._read or self._read[href].etag != etag]
            for at in range(0, len(stale), _AT_ONCE):
                self._fetch(stale[at : at + _AT_ONCE])
            known = [self._read[href] for href in sorted(etags) if href in self._read]
        series = (one for resource in known for one in resource.series)
        return seen(series, sum(resource.broken for resource in known))

    def add(self, uid: str, calendar: icalendar.Calendar) -> None:
        """Write a new series under a name that is not there yet.

        Raises:
            ChangedError: The name is there already.
            StoreError: The server refuses or does not answer.
        """
        self._write(self._calendar_url() + quote(file_name(uid)), calendar, {"If-None-Match": "*"})

    def open(self, stored: StoredSeries) -> icalendar.Calendar:
        """Return the whole calendar of a resource, for changing.

        Raises:
            ChangedError: It is not the version that was seen.
        """
        resource = self._read.get(stored.place)
        if resource is None or resource.etag != stored.version:
            raise ChangedError("Another program changed this event at this moment; nothing was written, try again.")
        return decode(resource.data)

    def save(self, stored: StoredSeries, calendar: icalendar.Calendar) -> None:
        """Write a changed calendar over the version that was seen (If-Match).

        Raises:
            ChangedError: Another program changed it since; nothing was written.
            StoreError: The server refuses or does not answer.
        """
        self._write(self._absolute(stored.place), calendar, {"If-Match": stored.version})

    def trash(self, stored: StoredSeries) -> None:
        """Keep a copy in the trash of this machine, then delete the resource in the version that was seen.

        Raises:
            ChangedError: Another program changed it since; nothing was deleted.
            StoreError: The server refuses or does not answer.
        """
        self.keep(stored.uid, self.open(stored))
        with _writing():
            response = self._session().delete(self._absolute(stored.place), {"If-Match": stored.version})
        _check(response)

    def keep(self, uid: str, calendar: icalendar.Calendar) -> None:
        """Put a copy of something that is about to be deleted or replaced into the trash of this machine."""
        self._trash.add(file_name(uid), calendar)

    def trashed(self) -> Iterator[Series]:
        """Return the series in the trash of this machine."""
        return self._trash.series()

    def _write(self, url: str, calendar: icalendar.Calendar, condition: Mapping[str, str]) -> None:
        calendar.pop("METHOD", None)  # RFC 4791 section 4.1 forbids it
        data = encode(calendar).decode()
        with _writing():
            response = self._session().put(url, data, {"Content-Type": _ICS, **condition})
        _check(response)

    def _etags(self) -> dict[str, str]:
        response = self._session().propfind(self._calendar_url(), props=["getetag", "resourcetype"], depth=1)
        _check_found(response)
        found = {result.href: result.properties.get("{DAV:}getetag") for result in response.parse_propfind()}
        return {href: str(etag) for href, etag in found.items() if etag and not href.endswith("/")}

    def _fetch(self, hrefs: Sequence[str]) -> None:
        wanted = "".join(f"<D:href>{quote(href)}</D:href>" for href in hrefs)
        response = self._session().report(self._calendar_url(), _MULTIGET.format(wanted), depth=None)
        _check_found(response)
        for found in response.parse_calendar_query():
            if found.etag and found.calendar_data is not None:
                self._read[found.href] = self._parsed(found.href, found.etag, found.calendar_data.encode())

    def _parsed(self, href: str, etag: str, data: bytes) -> _Resource:
        try:
            facts, broken = facts_in(decode(data, zones=False), self.zone)
        except UnreadableError:
            return _Resource(etag, data, (), 1)
        series = (StoredSeries(href, etag, one, partial(self._series, data, one)) for one in facts)
        return _Resource(etag, data, tuple(series), broken)

    def _series(self, data: bytes, facts: Facts) -> Series:
        if facts.source is not None:
            return series_from(facts, self.zone)
        return series_in(decode(data), facts.event.id, self.zone)

    def _session(self) -> "DAVClient":
        if self._client is None:
            from caldav.davclient import DAVClient

            self._client = DAVClient(
                self.account.url,
                username=self.account.user or None,
                password=self.account.password or None,
                timeout=_TIMEOUT_S,
                enable_rfc6764=False,
            )
        return self._client

    def _calendar_url(self) -> str:
        """Return the address of the calendar, with a slash at its end: the account's own, or the first it leads to."""
        if self._url is None:
            response = self._session().propfind(self.account.url, props=["resourcetype"], depth=0)
            _check_found(response)
            if _CALENDAR_TYPE in _types(response):
                self._url = self.account.url
            else:
                calendars = _calendars(self._session())
                if not calendars:
                    raise StoreError("PROMETHEUS_CALDAV_URL leads to no calendar; set it to the address of one.")
                self._url = str(calendars[0].url)
            self._url = self._url.rstrip("/") + "/"
        return self._url

    def _absolute(self, href: str) -> str:
        return urljoin(self._calendar_url(), quote(href))


def _calendars(session: "DAVClient") -> "list[Calendar]":
    """Return the calendars that an address leads to.

    Raises:
        StoreError: The answer is none of CalDAV's; the library stumbles over such in several ways.
    """
    try:
        return session.get_calendars()
    except (AttributeError, TypeError, KeyError, ValueError, AssertionError):
        raise StoreError(_NO_CALDAV) from None


def _types(response: "DAVResponse") -> set[str]:
    if response.tree is None:
        return set()
    return {str(child.tag) for element in response.tree.iter("{DAV:}resourcetype") for child in element}


def _check_found(response: "DAVResponse") -> None:
    if response.status == _NOT_FOUND:
        raise StoreError("There is no calendar at PROMETHEUS_CALDAV_URL; set it to the address of one.")
    if response.status in _BUSY:
        raise StoreBusyError("The CalDAV server asks to wait; nothing was changed, try again later.")
    if response.status in _FOUND and response.tree is None:
        raise StoreError(_NO_CALDAV)
    if response.status not in _FOUND:
        raise StoreError(f"The CalDAV server answers with status {response.status}; nothing was changed.")


def _check(response: "DAVResponse") -> None:
    if response.status in _GONE:
        raise ChangedError("Another program changed this event at this moment; nothing was written, try again.")
    if response.status not in _DONE:
        raise StoreError(f"The CalDAV server refused the event with status {response.status}; nothing was changed.")


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Say in one sentence why the server could not be read; neither address nor credentials show."""
    with _answering("The CalDAV server cannot be reached; check PROMETHEUS_CALDAV_URL; nothing was changed."):
        yield


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    """Say in one sentence why a write failed; without an answer nobody knows whether it was done."""
    with _answering(
        "The CalDAV server did not answer, so the change may be there or not; look with calendar_list_events before "
        "you try again, or use the same idempotency_key."
    ):
        yield


@contextlib.contextmanager
def _answering(unanswered: str) -> Iterator[None]:
    from caldav.lib.error import AuthorizationError, DAVError, RateLimitError

    try:
        yield
    except AuthorizationError as error:
        if error.status == _FORBIDDEN:
            raise StoreError("The CalDAV calendar is read-only for this user; nothing was changed.") from None
        raise StoreError(
            "The CalDAV server refused the user or password; check PROMETHEUS_CALDAV_USER and "
            "PROMETHEUS_CALDAV_PASSWORD; nothing was changed."
        ) from None
    except RateLimitError:
        raise StoreBusyError("The CalDAV server asks to wait; nothing was changed, try again later.") from None
    except (DAVError, SyntaxError, NotImplementedError, UnicodeError):  # SyntaxError: what is no XML
        raise StoreError(_NO_CALDAV) from None
    except OSError:
        raise StoreError(unanswered) from None
