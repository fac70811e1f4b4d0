"""One thing that `agent-host doctor` looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["ok", "note", "wrong"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `note` is worth knowing, `wrong` keeps something from working."""

    part: str
    state: State
    text: str
