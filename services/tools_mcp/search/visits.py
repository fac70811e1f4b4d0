"""The addresses that were really fetched, by this process: what a report's sources are checked against."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

_ID_CHARACTERS = 12


@dataclass(frozen=True)
class Visit:
    """A page whose text was handed out; `at` is when that last was. The id is the same for the same address."""

    id: str
    url: str
    asked: str
    title: str
    at: datetime


@dataclass
class Visits:
    """The last pages, at most `most`, each address once, the newest last."""

    most: int = 500
    _by_url: OrderedDict[str, Visit] = field(default_factory=OrderedDict)

    def add(self, url: str, asked: str, title: str, at: datetime) -> Visit:
        """Note that a page's text was handed out."""
        visit = Visit(visit_id(url), url, asked, title, at)
        self._by_url.pop(url, None)
        self._by_url[url] = visit
        while len(self._by_url) > self.most:
            self._by_url.popitem(last=False)
        return visit

    def newest(self) -> tuple[Visit, ...]:
        """Return the visits, newest first."""
        return tuple(reversed(self._by_url.values()))


def visit_id(url: str) -> str:
    """Return the id of a page: the same for the same address."""
    return hashlib.sha256(url.encode()).hexdigest()[:_ID_CHARACTERS]
