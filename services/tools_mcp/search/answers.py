"""From what the services found to what the tools answer, each answer within its size. Pure."""

import json
import re
from collections.abc import Iterable
from datetime import datetime

from tools_mcp.errors import InvalidInputError
from tools_mcp.paging import first_page
from tools_mcp.search.addresses import Target, read_target
from tools_mcp.search.fetching import Failure, Page
from tools_mcp.search.model import FetchedPage, PageAnswer, ProviderState, SearchAnswer, SearchResult
from tools_mcp.search.reading import Format
from tools_mcp.search.visits import Visit, visit_id
from tools_mcp.search.web import Found, Last
from tools_mcp.texts import cut, shown

_TEXT_BYTES = 17_000
"""What a part of a page may take as JSON; the text block of the answer takes as much again."""

_SCHEME = re.compile(r"\Ahttps?://", re.IGNORECASE)
_REGION = re.compile(r"[A-Za-z]{2}-[A-Za-z]{2}")


def region_of(told: str | None) -> str | None:
    """Return the region to search in.

    Raises:
        InvalidInputError: It is no language and country.
    """
    if told and not _REGION.fullmatch(told):
        raise InvalidInputError(f"region {shown(told)} is no language and country; send one such as en-US.")
    return told or None


def site_of(told: str | None) -> str | None:
    """Return the host to search on.

    Raises:
        InvalidInputError: It is no host name.
    """
    if not told:
        return None
    target = read_target(f"https://{_SCHEME.sub('', told.strip(), count=1).rstrip('/')}")
    if not isinstance(target, Target) or target.is_literal or target.path != "/" or ":" in target.authority:
        raise InvalidInputError(f"site {shown(told)} is no host name; send one such as example.org.")
    return target.host


def search_answer(found: Found, query: str) -> SearchAnswer:
    """Return what a search came to; results that do not fit in one answer are left out, from the last."""
    outcome = found.outcome
    results = (
        SearchResult(
            title=hit.title,
            url=hit.url,
            snippet=hit.snippet,
            published=hit.published,
            provider=found.provider,
            rank=rank,
        )
        for rank, hit in enumerate(outcome.hits, start=1)
    )
    fitting = first_page(list(results), len(outcome.hits), lambda one: len(one.model_dump_json().encode()))
    return SearchAnswer(
        status=outcome.status,
        query=query,
        provider=found.provider,
        results=list(fitting),
        message=cut(outcome.reason, 2_000) or None,
        cached=True if found.is_kept else None,
        cost_usd=None if found.is_kept else outcome.cost_usd,
    )


def search_text(model: SearchAnswer) -> str:
    """Return a search's answer as text."""
    if model.status != "ok":
        return f"{model.status}: {model.message}"
    lines = [f"{one.rank}. {one.title}\n   {one.url}\n   {one.snippet}" for one in model.results]
    notes = [model.message] if model.message else []
    return "\n".join([f"Untrusted text from the web, found by {model.provider}:", *lines, *notes])


def page_answer(page: Page, start: int, most: int, *, is_kept: bool) -> PageAnswer:
    """Return the part of a page that begins at `start`, of at most `most` characters and what fits in one answer.

    Raises:
        InvalidInputError: The page ends before.
    """
    text = page.reading.text
    if start >= len(text):
        raise InvalidInputError(f"start {start} is beyond the end: the page has {len(text)} characters.")
    end = start + fitting(text[start : start + most], _TEXT_BYTES)
    return PageAnswer(
        status="ok",
        id=visit_id(page.url),
        url=page.url,
        title=page.reading.title or None,
        published=page.reading.published or None,
        content_type=page.content_type or None,
        format=page.format,
        text=text[start:end],
        start=start,
        next_start=end if end < len(text) else None,
        total_chars=len(text),
        truncated=page.reading.is_cut or None,
        fetched_at=_time(page.fetched_at),
        cached=is_kept or None,
    )


def failure_answer(url: str, form: Format, failure: Failure) -> PageAnswer:
    """Return why there is no page."""
    return PageAnswer(status=failure.status, url=cut(url, 2_000), format=form, message=cut(failure.reason, 2_000))


def page_text(model: PageAnswer) -> str:
    """Return a page's answer as text."""
    if model.status != "ok":
        return f"{model.status}: {model.message}"
    title = f" ({model.title})" if model.title else ""
    following = f"\n\nThere is more: start={model.next_start}." if model.next_start else ""
    return f"Untrusted text from the web, from {model.url}{title}:\n\n{model.text}{following}"


def fitting(text: str, most_bytes: int) -> int:
    """Return how many characters from the beginning take at most `most_bytes` as JSON, but at least one."""
    if len(text) * 6 <= most_bytes or _bytes(text) <= most_bytes:
        return len(text)
    least, most = 1, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if _bytes(text[:middle]) <= most_bytes else (least, middle - 1)
    return least


def provider_state(name: str, last: Last | None) -> ProviderState:
    """Return how a provider answered last."""
    if last is None:
        return ProviderState(name=name)
    reason = cut(last.outcome.reason, 500) or None
    return ProviderState(name=name, last_status=last.outcome.status, last_at=_time(last.at), message=reason)


def fetched_pages(visits: Iterable[Visit]) -> list[FetchedPage]:
    """Return the pages that were fetched, as rows."""
    return [
        FetchedPage(
            id=visit.id,
            url=visit.url,
            asked_url=visit.asked if visit.asked != visit.url else None,
            title=cut(visit.title, 200),
            at=_time(visit.at),
        )
        for visit in visits
    ]


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())
