"""What the outbox keeps and what its tools answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

Channel: TypeAlias = Literal["email", "sms", "chat"]
Status: TypeAlias = Literal["drafted", "exists", "discarded"]


@dataclass(frozen=True)
class Draft:
    """A message that somebody may send later; `created_at` has the person's zone, to the second."""

    channel: Channel
    to: tuple[str, ...]
    subject: str
    body: str
    created_at: datetime
    request: str = ""
    """A hash of the idempotency key that made it; empty without one."""


@dataclass(frozen=True)
class Kept:
    """A draft in the outbox. Its id is the file's name without the suffix."""

    id: str
    draft: Draft


class MessageRow(BaseModel):
    """A draft in an answer."""

    id: str
    channel: Channel
    to: list[str]
    subject: str | None = None
    body: str = Field(description="the beginning, where it is long")
    created: str = Field(description="local time")
    created_utc: str


class MessageAnswer(BaseModel):
    """What became of one draft."""

    status: Status
    sent: Literal[False] = False
    message: MessageRow


class MessageList(BaseModel):
    """A page of drafts, newest first."""

    messages: list[MessageRow]
    sent: Literal[False] = False
    next_cursor: str | None = None
