"""`/review`: the decisions that wait for a person, and his verdicts."""

from __future__ import annotations

from typing import Final

from agent_host.errors import UsageError
from agent_host.gateways.commands.command import Answer, Choice, Desk
from agent_host.receipts.drafts import Verdict

_VERDICTS: Final[dict[str, Verdict]] = {"accept": "approved", "reject": "rejected", "amend": "amended"}
_REVIEWER: Final = "operator"


async def review(desk: Desk, told: str) -> Answer:
    """Lists what waits, or gives a verdict: `accept CALL [COMMENT]`, `reject CALL [COMMENT]`, `amend CALL JSON`.

    Raises:
        UsageError: it is none of these, there is no such open case, or the output cannot stand.
    """
    from agent_host.gateways.review import reviews_text, ruled_text, ruling_of

    if not told:
        return Answer(await reviews_text(desk.settings, desk.environ))
    verb, call_id, rest = (*told.split(maxsplit=2), "", "")[:3]
    verdict = _VERDICTS.get(verb.lower())
    if verdict is None or not call_id:
        raise UsageError("Type /review for what waits, or accept, reject or amend and the id of a call (c_…).")
    output, comment = (rest, "") if verdict == "amended" else (None, rest)
    ruling = ruling_of(verdict, _REVIEWER, output, comment)
    return Answer((await ruled_text(desk.settings, desk.environ, call_id, ruling)).text)


def review_choices(desk: Desk, _: str) -> list[Choice]:
    """Offers a verdict on each call that waits."""
    from agent_host.gateways.review import waiting_calls

    waiting = waiting_calls(desk.settings)
    return [Choice(f"{verb} {call_id}", spec_id) for call_id, spec_id in waiting for verb in _VERDICTS]
