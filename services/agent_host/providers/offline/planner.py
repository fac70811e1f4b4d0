"""The planner: a pure function from a conversation to the next step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from agent_host.providers.offline.calendar.date_order import naming_date_order
from agent_host.providers.offline.calendar.replies import read_event_row
from agent_host.providers.offline.conversation import PastTurn, Turn, read_turn
from agent_host.providers.offline.questions import Reader, Wish, complete
from agent_host.providers.offline.recognition import plain_request, stands_alone, understand, understand_after
from agent_host.providers.offline.routine import Request, Say, Scene, Step, guarded, replay, together
from agent_host.providers.offline.splitting import split_requests
from agent_host.providers.offline.talk.about import NOT_READ
from agent_host.providers.offline.talk.small_talk import small_talk
from agent_host.providers.protocol import Message

LEFT_ALONE = "All right, I left it."
_READER = Reader(stands_alone, lambda text: split_requests(text)[-1])


def requests_in(text: str) -> tuple[Request, ...]:
    """Returns what a message asks for, in its order."""
    return tuple(naming_date_order(understand(part), part) for part in split_requests(text))


def _corrections(turn: Turn, wish: Wish, scene: Scene) -> tuple[Request, ...]:
    """Returns the correction of the event that was just stored or changed, if the message is one."""
    beside = all(_is_aside(past) for past in turn.aside)
    event = read_event_row(turn.touched, scene) if turn.touched is not None and wish.said_now and beside else None
    corrected = understand_after(wish.text, event) if event is not None else None
    return (corrected,) if corrected is not None else ()


def _is_aside(past: PastTurn) -> bool:
    """Tells whether a turn leaves open what the one before it was about."""
    return past.reply.startswith(NOT_READ) or small_talk(plain_request(past.text)) is not None


def plan(messages: Sequence[Message], tools: frozenset[str], now: datetime, zone: ZoneInfo) -> Step:
    """Returns the tool calls to make next, or the reply that ends the turn.

    Everything is derived from the messages: the person's last words, the question asked back before them, and the
    results this turn has so far. `tools` are the names that may be called; `now` is aware. Text in tool results is
    shown and never read as a request.
    """
    turn = read_turn(messages)
    wish = complete(turn.past, turn.text, _READER)
    scene = Scene(tools, now, zone, wish.choice, wish.agreed, turn.touched)
    requests: tuple[Request, ...] = (Say(LEFT_ALONE),) if wish.declined else _corrections(turn, wish, scene)
    requests = requests or requests_in(wish.text)
    return replay(together([guarded(request.run(scene), tools) for request in requests]), turn.rounds)
