"""How long a reply may grow before it is given up while it comes. Pure.

A request names the most tokens of its reply, but a server that is broken or hostile keeps to nothing, and its flood
would be taken in until the deadline. Text, thoughts and the arguments of tool calls count alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agent_host.errors import OverlongReplyError
from agent_host.providers.protocol import ModelRequest, Usage

_ALWAYS: Final = 65_536
_CHARACTERS_A_TOKEN: Final = 32  # far above what any language or code needs
_CHARACTERS_A_CALL: Final = 64  # what a tool call costs in memory, however little it says


@dataclass
class Bound:
    """What a reply has brought so far, in characters, and the most that it may."""

    most: int
    come: int = 0

    def take(self, characters: int, usage: Usage | None, *, calls: int = 0) -> None:
        """Counts what has come.

        Raises:
            OverlongReplyError: it is too much; the error carries the `usage` that is known.
        """
        self.come += characters + calls * _CHARACTERS_A_CALL
        if self.come > self.most:
            told = f"The model's reply passed {self.most} characters without an end, and was given up; ask for less."
            raise OverlongReplyError(told, usage)


def bound_of(request: ModelRequest) -> Bound:
    """Returns the bound of a request's reply."""
    return Bound(_ALWAYS + _CHARACTERS_A_TOKEN * request.max_tokens)
