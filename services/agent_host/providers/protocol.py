"""The provider seam: what the loop sends to a model and what it gets back.

Values only; no provider's wire format shows here. Every provider passes `tests/conformance/test_provider.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

StopReason: TypeAlias = Literal[
    "end_turn",  # the model is done
    "tool_use",  # the model asks for tools
    "max_tokens",  # the output limit cut the reply
    "stop_sequence",
    "pause",  # the provider paused a long turn: send the reply back and go on
    "refusal",  # the model declined
    "context_full",  # the prompt no longer fits the model's window
]


@dataclass(frozen=True)
class Text:
    """Text of a person or a model."""

    text: str


@dataclass(frozen=True)
class ToolUse:
    """A model's request for one tool call; `id` is unique in the conversation.

    `fault` says what the model is told in place of a result, when it wrote arguments that no tool can be called with.
    """

    id: str
    name: str
    arguments: Mapping[str, JsonValue]
    fault: str | None = None


@dataclass(frozen=True)
class ToolResult:
    """The answer to one `ToolUse`. `content` is JSON text when the tool gave structured output."""

    tool_use_id: str
    content: str
    is_error: bool


Block: TypeAlias = Text | ToolUse | ToolResult


@dataclass(frozen=True)
class Message:
    """One row of the conversation. Tool results stand in the user message right after their requests."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model sees it: model-facing name (`[A-Za-z0-9_-]{1,64}`) and JSON Schema of its arguments.

    `read_only` is for the host: calls of such tools may run at the same time.
    """

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]
    read_only: bool = False


@dataclass(frozen=True)
class ModelRequest:
    """Everything one model call depends on.

    With `output_schema` (the closed subset of `constrained.schema`) the reply's text should be one JSON value that
    satisfies it. A provider that can make its model keep to a schema does; any other may ignore the field, as the
    prompt asks for the same and the caller checks the answer. `lasting` is how many characters of `system`, from its
    beginning, stay as they are from turn to turn, so that a provider may have them cached; 0 for all of them.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    tool_choice: Literal["auto", "none"]
    max_tokens: int
    output_schema: Mapping[str, JsonValue] | None = None
    lasting: int = 0

    @property
    def schema_key(self) -> str | None:
        """What its output schema is known by, None without one."""
        if self.output_schema is None:
            return None
        return hashlib.sha256(json.dumps(self.output_schema, sort_keys=True, default=dict).encode()).hexdigest()


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `input_tokens` leaves cached ones out; all are 0 for a provider that counts none.

    A call that took several requests (a retry, a repair, a plain request after a broken stream) counts them together,
    and keeps each in `requests`: a price may depend on the length of one prompt, so that it is no price of a sum.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: tuple[Usage, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @property
    def each(self) -> tuple[Usage, ...]:
        """The tokens of each request, in the order they were sent."""
        return self.requests or (self,)


def added(first: Usage | None, second: Usage | None) -> Usage | None:
    """Returns the tokens of two requests together; None when neither counted any."""
    if first is None or second is None:
        return first or second
    return Usage(
        first.input_tokens + second.input_tokens,
        first.output_tokens + second.output_tokens,
        first.cache_read_tokens + second.cache_read_tokens,
        first.cache_write_tokens + second.cache_write_tokens,
        requests=(*first.each, *second.each),
    )


@dataclass(frozen=True)
class TextDelta:
    """A piece of the reply's text, as it arrives."""

    text: str


@dataclass(frozen=True)
class ModelReply:
    """A whole reply; always the last item of a stream."""

    blocks: tuple[Text | ToolUse, ...]
    stop_reason: StopReason
    usage: Usage
    model: str

    @property
    def text(self) -> str:
        """The reply's text blocks, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The tool calls the model asks for, in its order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


@dataclass(frozen=True)
class Identity:
    """Who answers: the ledger's provider word (receipts.md section 3), the model's name and version."""

    provider: Literal["anthropic", "openai", "azure-openai", "local-llama", "mock", "openai-compatible", "offline"]
    model: str
    version: str


class Provider(Protocol):
    """Answers model requests."""

    @property
    def identity(self) -> Identity:
        """Who answers."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        """Streams a reply: any number of `TextDelta`, then exactly one `ModelReply`.

        The deltas joined equal `ModelReply.text`. Cancelling the iteration closes the connection.

        Raises:
            ProviderError: nothing usable came; its message says what to do.
        """
        ...

    async def close(self) -> None:
        """Releases connections; safe to call twice."""
        ...
