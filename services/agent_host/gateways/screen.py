"""What a person sees of a turn, as plain text on one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from agent_host.receipts.line import receipt_line
from agent_host.tracing.events import Notice, ReplyDelta, ToolCalled, ToolStarted, TurnEvent
from agent_host.turn import TurnResult

_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), 127, *range(128, 160))}


def printable(text: str) -> str:
    """Returns the text with control characters spelled out, so that it cannot steer a terminal."""
    return text.translate(_ESCAPED)


class Screen:
    """Writes a conversation. With `live`, the reply streams and tool calls show as they happen."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        self._stream = stream
        self._live = live
        self._streamed = ""
        self._noticed: set[str] = set()
        self._noticed_before: set[str] = set()

    def say(self, text: str) -> None:
        """Writes one or more whole lines."""
        self._stream.write(printable(text) + "\n")
        self._stream.flush()

    def show(self, event: TurnEvent) -> None:
        """Takes one event of the running turn."""
        match event:
            case Notice():
                self._notice(event.text)
            case ReplyDelta() if self._live:
                self._streamed += event.text
                self._stream.write(printable(event.text))
                self._stream.flush()
            case ToolStarted() if self._live:
                self._own_line(f"· {event.name} …")
            case ToolCalled() if self._live:
                word = "failed" if event.outcome.is_error else "ok"
                self._own_line(f"· {event.name} {word}, {event.outcome.duration_ms} ms")
            case _:
                pass

    def finish(self, result: TurnResult) -> None:
        """Ends the turn: what of the reply has not streamed yet, and the receipt line."""
        if self._streamed.endswith(result.reply):
            self._break_line()
        else:
            self._own_line(result.reply)
        self.say(receipt_line(result.receipt, result.status))
        self.say("")
        self._streamed = ""
        self._noticed_before, self._noticed = self._noticed, set()

    def _notice(self, text: str) -> None:
        """Says what is new; what the last turn said already is not said again."""
        self._noticed.add(text)
        if text not in self._noticed_before:
            self._own_line(f"! {text}")

    def _own_line(self, text: str) -> None:
        self._break_line()
        self.say(text)
        self._streamed = ""

    def _break_line(self) -> None:
        if self._streamed and not self._streamed.endswith("\n"):
            self._stream.write("\n")


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Returns two aligned columns."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)
