"""The provider: one streamed call, and one plain call when the stream breaks before any text (agent.md row 4)."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from agent_host.errors import BrokenOffError
from agent_host.providers.anthropic.endpoint import checked_endpoint
from agent_host.providers.anthropic.wire import (
    Kept,
    MalformedReplyError,
    Prompt,
    build_prompt,
    check_tool_json,
    known_usage,
    read_reply,
    worth_keeping,
)
from agent_host.providers.bounds import Bound, bound_of
from agent_host.providers.protocol import Identity, ModelReply, ModelRequest, TextDelta, Usage, added

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
_KEPT_REPLIES: Final = 64
_VERSION: Final = re.compile(r"^claude-[a-z]+-(.+)$")

logger = logging.getLogger(__name__)


class AnthropicProvider:
    """Claude models over the Messages API, streamed, with tools and prompt caching.

    `timeout_s` bounds the API's silences, not the whole call: for that the caller sets a deadline, of at least four
    times `timeout_s` (`Endpoint` says why). The last 64 replies that hold thinking are remembered, since the API wants
    them back unchanged with the results of the tools they asked for.

    Raises:
        ConfigurationError: the key or the address cannot be used at all.
    """

    def __init__(self, model: str, api_key: str, base_url: str | None = None, timeout_s: float = 120.0) -> None:
        self._endpoint = checked_endpoint(model, api_key, base_url, timeout_s)
        self._kept: dict[str, Kept] = {}
        self._refused: set[str] = set()  # output schemas
        self._client: AsyncAnthropic | None = None
        self._opening = asyncio.Lock()

    @property
    def identity(self) -> Identity:
        """Anthropic, the configured model, and the version its name carries (that of `claude-sonnet-5-5` is `5-5`)."""
        model = self._endpoint.model
        version = _VERSION.match(model)
        return Identity("anthropic", model, version[1] if version else model)

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        """Streams a reply; a stream that breaks before any of its text was shown is replaced by one plain call.

        After text was shown there is no second call: its reply would be worded differently, be paid for as well, and
        could only be thrown away. The tokens of a replaced stream are counted with those of the plain call. A model
        that refuses an output schema is asked without that one, then and from then on: the prompt asks for the same.

        Raises:
            ProviderRefusedError: the API said no (4xx).
            BrokenOffError: some of the text came, and no more.
            ProviderUnavailableError: no usable answer; its `usage` is what is known to be billed.
        """
        schema = request.schema_key
        if schema is not None and schema not in self._refused:
            await self._connected()
            from agent_host.providers.anthropic import sdk

            try:
                async with aclosing(self._stream(request)) as items:
                    async for item in items:
                        yield item
            except sdk.SchemaRefusedError as error:  # nothing was said yet
                self._refused.add(schema)
                logger.warning("%s is asked without an output schema that it refuses: %s", self._endpoint.model, error)
            else:
                return
        async with aclosing(self._stream(replace(request, output_schema=None))) as items:
            async for item in items:
                yield item

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | ModelReply, None]:
        client = await self._connected()
        from agent_host.providers.anthropic import sdk

        prompt = build_prompt(self._endpoint.model, request, self._kept)
        heard = _Heard(bound_of(request))
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._endpoint.timeout_s):
                    events = await stack.enter_async_context(client.messages.stream(**prompt.params))
                heard.began = True
                async for event in events:
                    if text := heard.take(event):
                        yield TextDelta(text)
                heard.check_whole()
                message = _json(events.current_message_snapshot)
                reply = read_reply(message)
        except sdk.BREAKS as error:
            if not heard.began or sdk.is_refusal(error):
                raise sdk.failure(error, self._endpoint, heard.usage) from error
            if heard.spoke:
                raise BrokenOffError("The reply broke off; ask again.", heard.usage) from error
            message, reply = await self._plain_call(client, prompt, heard.usage)
            if reply.text:
                yield TextDelta(reply.text)
        self._keep(prompt, message, reply)
        yield reply

    def warm_up(self) -> None:
        """Imports the SDK (2-3 s of CPU), which the deadline of a first short call should not have to pay for."""
        import_module("agent_host.providers.anthropic.sdk")

    async def close(self) -> None:
        """Closes the connections; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _plain_call(
        self, client: AsyncAnthropic, prompt: Prompt, spent: Usage | None
    ) -> tuple[dict[str, Any], ModelReply]:
        """Asks once without streaming, where the API is silent until it is done; adds what was `spent` before."""
        from agent_host.providers.anthropic import sdk
        from agent_host.providers.failing import silence

        patience_s = 2 * self._endpoint.timeout_s
        message: dict[str, Any] = {}
        try:
            async with asyncio.timeout(patience_s):
                whole = await client.messages.create(**prompt.params, timeout=silence(patience_s))
            message = _json(whole)
            reply = read_reply(message)
        except sdk.BREAKS as error:
            raise sdk.failure(error, self._endpoint, added(spent, _counted(message)), requests=2) from error
        return message, replace(reply, usage=added(spent, reply.usage) or Usage())

    async def _connected(self) -> AsyncAnthropic:
        """Returns the client; the first call imports the SDK in a worker thread, so that the prompt stays alive."""
        async with self._opening:
            if self._client is None:
                await asyncio.to_thread(import_module, "agent_host.providers.anthropic.sdk")
                from agent_host.providers.anthropic import sdk

                self._client = sdk.open_client(self._endpoint)
            return self._client

    def _keep(self, prompt: Prompt, message: Mapping[str, Any], reply: ModelReply) -> None:
        kept = worth_keeping(message, reply)
        if kept is None:
            return
        self._kept[prompt.position] = kept
        if len(self._kept) > _KEPT_REPLIES:
            del self._kept[next(iter(self._kept))]


@dataclass
class _Heard:
    """What a stream has said so far, within its bound."""

    bound: Bound
    began: bool = False
    spoke: bool = False
    ended: bool = False
    tool_json: dict[int, list[str]] = field(default_factory=dict)
    stop_reason: str | None = None
    usage: Usage | None = None

    def take(self, event: Any) -> str:
        """Takes one event in; returns the text it adds, if any.

        Raises:
            OverlongReplyError: the stream has brought more than any use has for it.
        """
        if event.type == "text":
            self.spoke = self.spoke or bool(event.text)
            return str(event.text)
        if event.type == "content_block_start":
            self.bound.take(0, self.usage, calls=1)
        elif event.type == "content_block_delta":
            self.bound.take(sum(len(said) for said in vars(event.delta).values() if isinstance(said, str)), self.usage)
            if event.delta.type == "input_json_delta":
                self.tool_json.setdefault(event.index, []).append(event.delta.partial_json)
        elif event.type == "message_start":
            self.usage = _counted(_json(event.message))
        elif event.type == "message_delta":
            self.stop_reason = event.delta.stop_reason
            self.usage = known_usage(_json(event.usage), self.usage)  # totals so far, not additions
        elif event.type == "message_stop":
            self.ended = True
        return ""

    def check_whole(self) -> None:
        """Checks that the stream ended properly: the SDK itself takes a closed connection for an end.

        Raises:
            MalformedReplyError: it did not, or a tool call it asks for is not whole.
        """
        if not self.ended:
            raise MalformedReplyError("the stream ended before the reply did")
        if self.stop_reason == "tool_use":
            for pieces in self.tool_json.values():
                check_tool_json(pieces)


def _json(value: Any) -> dict[str, Any]:
    """Returns one of the SDK's values as JSON, without its warnings of types: `read_reply` checks them itself."""
    return dict(value.model_dump(mode="json", exclude_none=True, warnings=False))


def _counted(message: Mapping[str, Any]) -> Usage | None:
    counts = message.get("usage")
    return known_usage(counts) if isinstance(counts, Mapping) else None
