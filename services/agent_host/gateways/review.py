"""`agent-host review`: the queue of decisions that wait for a person, and his verdicts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime

from agent_host.app import CallDesk, open_desk
from agent_host.constrained.options import Ruling
from agent_host.constrained.output import OutputError, parse_output
from agent_host.constrained.store import CallStore, OpenReview
from agent_host.constrained.verdicts import Recorded, case_document, recorded_or_later, rule
from agent_host.errors import UsageError, WriterUnavailableError
from agent_host.gateways.screen import printable
from agent_host.providers.protocol import JsonValue
from agent_host.receipts.drafts import Verdict
from service_runtime.settings import Settings


async def list_reviews(settings: Settings, environ: Mapping[str, str], *, as_json: bool) -> int:
    """Prints the cases that wait, oldest first, with what was asked, what the model said and what stands meanwhile.

    Raises:
        ConfigurationError: the queue cannot be opened.
    """
    async with AsyncExitStack() as resources:
        store = open_desk(settings, environ, resources).store
        cases, unrecorded = store.reviews("waiting"), store.reviews("ruled")
    if as_json:
        sys.stdout.write(json.dumps([case_document(case) for case in cases], ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(printable(_cases_text(cases)) + "\n")
    if unrecorded:
        sys.stderr.write(f"Verdicts that wait for the writer: {len(unrecorded)}; the next verdict records them too.\n")
    return 0


async def give_verdict(settings: Settings, environ: Mapping[str, str], call_id: str, ruling: Ruling) -> int:
    """Keeps a verdict and records it, with any that waited for the writer; returns 1 when the writer refused it.

    Raises:
        UsageError: there is no such open case, or the ruling cannot stand.
    """
    given = await ruled_text(settings, environ, call_id, ruling)
    sys.stdout.write(printable(given.text) + "\n")
    return 0 if given.stands else 1


@dataclass(frozen=True)
class Given:
    """What became of a verdict, as lines; it stands unless the writer refused it."""

    text: str
    stands: bool


async def ruled_text(settings: Settings, environ: Mapping[str, str], call_id: str, ruling: Ruling) -> Given:
    """Keeps a verdict and records it, with any that waited for the writer.

    Raises:
        UsageError: there is no such open case, or the ruling cannot stand.
    """
    async with AsyncExitStack() as resources:
        desk = open_desk(settings, environ, resources)
        rule(desk.store, desk.openings, call_id, ruling)
        done, why_later = await _record(desk)
        after = desk.store.review(call_id)
    signed = [f"review {one.entry.id} signed, of {one.call_id}" for one in done]
    if after is not None and after.refused:
        return Given("\n".join([f"{call_id}: still open. {after.refused}", *signed]), stands=False)
    lines = [f"{call_id}: {ruling.verdict}.", *signed]
    if all(one.call_id != call_id for one in done):
        lines.append(why_later or "Its decision is not signed yet; the next verdict records this one too.")
    return Given("\n".join(lines), stands=True)


async def reviews_text(settings: Settings, environ: Mapping[str, str]) -> str:
    """Returns the cases that wait, oldest first, as lines.

    Raises:
        ConfigurationError: the queue cannot be opened.
    """
    async with AsyncExitStack() as resources:
        return _cases_text(open_desk(settings, environ, resources).store.reviews("waiting"))


def waiting_calls(settings: Settings) -> list[tuple[str, str]]:
    """Returns the call and the spec of each case that waits, oldest first; makes no queue where there is none.

    Raises:
        ConfigurationError: the queue cannot be opened.
    """
    path = settings.home.path / "host" / "calls.db"
    if not path.exists():
        return []
    with closing(CallStore(path)) as store:
        return [(one.call_id, _spec_id(one)) for one in store.reviews("waiting")]


def amended_output(text: str) -> JsonValue:
    """Reads the output that a reviewer gives in the model's place.

    Raises:
        UsageError: it is no strict JSON.
    """
    try:
        return parse_output(text)
    except OutputError as error:
        raise UsageError(f"The amended output cannot be used: {error}.") from error


def ruling_of(verdict: Verdict, reviewer: str, output: str | None, comment: str) -> Ruling:
    """Returns the ruling of a command line.

    Raises:
        UsageError: the amended output is no strict JSON.
    """
    return Ruling(verdict, reviewer, amended_output(output) if output is not None else None, comment)


async def _record(desk: CallDesk) -> tuple[Sequence[Recorded], str | None]:
    try:
        await desk.link.connect()
    except WriterUnavailableError as error:
        return (), f"{error} The verdict is kept, and the next one records it too."
    return await recorded_or_later(desk.store, desk.link.client)


def _cases_text(cases: Sequence[OpenReview]) -> str:
    return "\n".join(_text(case, case_document(case)) for case in cases) or "Nothing waits for a review."


def _text(case: OpenReview, document: Mapping[str, JsonValue]) -> str:
    when = datetime.fromtimestamp(case.queued_at_ms / 1000, tz=UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    lines = [f"{case.call_id}  {_spec_id(case)}  {when}", f"  why       {document['reason']}"]
    if case.refused:
        lines.append(f"  refused   {case.refused}")
    for name, member in (("asked", "input"), ("proposed", "proposal"), ("meanwhile", "default")):
        lines.append(f"  {name:9} {json.dumps(document[member], ensure_ascii=False)}")
    return "\n".join(lines)


def _spec_id(case: OpenReview) -> str:
    return case.case.spec.spec_id if case.case else "unreadable"
