"""The provider: one streamed call, and one plain call when the stream breaks (agent.md row 4)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from agent_host.errors import ProviderUnavailableError
from agent_host.providers.anthropic.endpoint import checked_endpoint
from agent_host.providers.anthropic.wire import (
    Kept,
    MalformedReplyError,
    Prompt,
    build_prompt,
    check_tool_json,
    read_reply,
    worth_keeping,
)
from agent_host.providers.protocol import Identity, ModelReply, ModelRequest, TextDelta

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
_KEPT_REPLIES: Final = 64
_VERSION: Final = re.compile(r"^claude-[a-z]+-(.+)$")


class AnthropicProvider:
    """Claude models over the Messages API, streamed, with tools and prompt caching.

    `timeout_s` bounds every silence of the API and the wait for a reply to begin. The last 64 replies that hold
    thinking are remembered, since the API wants them back unchanged with the results of the tools they asked for.

    Raises:
        ConfigurationError: the key or the address cannot be used at all.
    """

    def __init__(
        self, model: str, api_key: str, base_url: str | None = None, timeout_s: float = 120.0, max_retries: int = 2
    ) -> None:
        self._endpoint = checked_endpoint(model, api_key, base_url, timeout_s, max_retries)
        self._kept: dict[str, Kept] = {}
        self._client: AsyncAnthropic | None = None
        self._opening = asyncio.Lock()

    @property
    def identity(self) -> Identity:
        """Anthropic, the configured model, and the version its name carries (that of `claude-sonnet-5-5` is `5-5`)."""
        model = self._endpoint.model
        version = _VERSION.match(model)
        return Identity("anthropic", model, version[1] if version else model)

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        """Streams a reply; a stream that breaks is replaced by one plain call, whose text must go on from what broke.

        Raises:
            ProviderRefusedError: the API said no (4xx).
            ProviderUnavailableError: no usable answer after bounded retries.
        """
        client = await self._connected()
        from agent_host.providers.anthropic import sdk

        prompt = build_prompt(self._endpoint.model, request, self._kept)
        heard = _Heard()
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._endpoint.timeout_s):
                    events = await stack.enter_async_context(client.messages.stream(**prompt.params))
                heard.began = True
                async for event in events:
                    if text := heard.take(event):
                        yield TextDelta(text)
                heard.check_whole()
                message = events.current_message_snapshot.model_dump(mode="json", exclude_none=True)
                reply = read_reply(message)
        except sdk.BREAKS as error:
            if not heard.began or sdk.is_refusal(error):
                raise sdk.failure(error, self._endpoint) from error
            message, reply = await self._plain_call(client, prompt)
            if rest := _rest(reply.text, heard.text):
                yield TextDelta(rest)
        self._keep(prompt, message, reply)
        yield reply

    async def close(self) -> None:
        """Closes the connections; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _plain_call(self, client: AsyncAnthropic, prompt: Prompt) -> tuple[dict[str, Any], ModelReply]:
        """Asks once without streaming."""
        from agent_host.providers.anthropic import sdk

        try:
            async with asyncio.timeout(2 * self._endpoint.timeout_s):
                whole = await client.messages.create(**prompt.params)
            message = whole.model_dump(mode="json", exclude_none=True)
            return message, read_reply(message)
        except sdk.BREAKS as error:
            raise sdk.failure(error, self._endpoint) from error

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
    """What a stream has said so far."""

    text: str = ""
    began: bool = False
    ended: bool = False
    tool_json: dict[int, list[str]] = field(default_factory=dict)
    stop_reason: str | None = None

    def take(self, event: Any) -> str:
        """Takes one event in; returns the text it adds, if any."""
        if event.type == "text":
            self.text += event.text
            return str(event.text)
        if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            self.tool_json.setdefault(event.index, []).append(event.delta.partial_json)
        elif event.type == "message_delta":
            self.stop_reason = event.delta.stop_reason
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


def _rest(text: str, shown: str) -> str:
    """Returns what is still to be shown of a reply.

    Raises:
        ProviderUnavailableError: the reply does not begin with what was shown, so showing it would mix two replies.
    """
    if not text.startswith(shown):
        raise ProviderUnavailableError("The reply broke off, and asking once more gave a different one; ask again.")
    return text[len(shown) :]
