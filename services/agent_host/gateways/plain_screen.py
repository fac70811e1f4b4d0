"""A screen of plain text on one stream: for pipes, `--plain`, screen readers and terminals that can do no more."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, TextIO

from agent_host.gateways.event_lines import event_line, started_line
from agent_host.gateways.screen import Rows, printable, table
from agent_host.receipts.line import receipt_line
from agent_host.tracing.events import Notice, ReplyDelta, ToolStarted, TurnEvent

if TYPE_CHECKING:
    from agent_host.turn import TurnResult

CANCELLED: Final = "Cancelled."


class PlainScreen:
    """Writes a conversation. With `live`, the reply streams and what happens shows as it happens."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        self._stream = stream
        self._live = live
        self._streamed = ""
        self._notices = NoticesOnce()

    def say(self, text: str) -> None:
        """Writes one or more whole lines."""
        self._stream.write(printable(text) + "\n")
        self._stream.flush()

    def table(self, rows: Rows) -> None:
        """Writes two aligned columns."""
        self.say(table(rows))

    def working(self, doing: str = "thinking") -> AbstractContextManager[None]:  # noqa: ARG002 - the seam's signature
        """Shows nothing: what runs is seen by what it says."""
        return nullcontext()

    def held(self) -> AbstractContextManager[None]:
        """Ends the line that is being written; nothing moves here."""
        self._break_line()
        self._streamed = ""
        return nullcontext()

    def show(self, event: TurnEvent) -> None:
        """Takes one event of the running turn."""
        match event:
            case Notice():
                if self._notices.is_new(event.text):
                    self._own_line(f"! {event.text}")
            case ReplyDelta() if self._live:
                self._streamed += event.text
                self._stream.write(printable(event.text))
                self._stream.flush()
            case ToolStarted() if self._live:
                self._own_line(started_line(event))
            case _ if self._live and (line := event_line(event)) is not None:
                self._own_line(line)
            case _:
                pass

    def finish(self, result: TurnResult) -> None:
        """Ends the turn: what of the reply has not streamed yet, and the receipt line."""
        rest = unshown(result, self._streamed)
        if rest:
            self._own_line(rest)
        else:
            self._break_line()
        if was_cut_short(result):
            self.say(CANCELLED)
        self.say(receipt_line(result.receipt, result.status))
        self.say("")
        self._streamed = ""
        self._notices.turn_ended()

    def _own_line(self, text: str) -> None:
        self._break_line()
        self.say(text)
        self._streamed = ""

    def _break_line(self) -> None:
        if self._streamed and not self._streamed.endswith("\n"):
            self._stream.write("\n")


def was_cut_short(result: TurnResult) -> bool:
    """Tells whether a person cancelled a reply after its first words, which do not say so themselves."""
    return result.outcome == "cancelled" and not result.reply.startswith(CANCELLED)


def unshown(result: TurnResult, streamed: str) -> str:
    """Returns what of a reply is still to be shown: of one that was cut short, what stands after the words streamed."""
    said, reply = streamed.strip(), result.reply.strip()
    if said.endswith(reply):
        return ""
    at = reply.rfind(said) if said and result.outcome != "replied" else -1
    return result.reply if at < 0 else reply[at + len(said) :].strip()


class NoticesOnce:
    """What the last turn said already is not said again."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._said_before: set[str] = set()

    def is_new(self, text: str) -> bool:
        """Takes a notice and tells whether it is to be shown."""
        self._said.add(text)
        return text not in self._said_before

    def turn_ended(self) -> None:
        """Takes the end of a turn."""
        self._said_before, self._said = self._said, set()
