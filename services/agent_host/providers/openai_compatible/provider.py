"""The provider: one streamed call, and one plain call when the stream breaks before any text (agent.md row 4)."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from agent_host.errors import BrokenOffError
from agent_host.providers.bounds import bound_of
from agent_host.providers.openai_compatible.endpoint import checked_endpoint
from agent_host.providers.openai_compatible.reading import Heard
from agent_host.providers.openai_compatible.wire import OF_A_SCHEMA, Part, build_params, has_part
from agent_host.providers.protocol import Identity, ModelReply, ModelRequest, TextDelta, Usage, added

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_DATED: Final = re.compile(r"-(\d{4}-\d{2}-\d{2})$")

logger = logging.getLogger(__name__)


class OpenAiCompatibleProvider:
    """A model behind chat completions, streamed, with tools and structured output.

    `timeout_s` bounds the server's silences, not the whole call: for that the caller sets a deadline, of at least four
    times `timeout_s`. A server on this machine needs no key.

    Raises:
        ConfigurationError: the model, the key or the address cannot be used at all.
    """

    def __init__(self, model: str, api_key: str, base_url: str | None = None, timeout_s: float = 120.0) -> None:
        self._endpoint = checked_endpoint(model, api_key, base_url, timeout_s)
        self._without: set[Part] = {"max_tokens", "lengths"} if self._endpoint.is_openai else set()
        self._refused: dict[str | None, set[Part]] = {}  # by output schema
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    @property
    def identity(self) -> Identity:
        """`openai` when OpenAI itself answers, the configured model, and the date in its name, if there is one."""
        model, dated = self._endpoint.model, _DATED.search(self._endpoint.model)
        version = dated[1] if dated else model
        return Identity("openai" if self._endpoint.is_openai else "openai-compatible", model, version)

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelReply]:
        """Streams a reply; a stream that breaks before any of its text was shown is replaced by one plain call.

        A server that refuses an output schema is asked without that one, and one that refuses another part which not
        all of them know without that part, then and from then on. Any other refusal is told at once.

        Raises:
            ProviderRefusedError: the server said no (4xx).
            BrokenOffError: some of the text came, and no more.
            ProviderUnavailableError: no usable answer; its `usage` is what is known to be billed.
        """
        await self._connected()
        from agent_host.providers.openai_compatible import sdk

        schema = request.schema_key
        while True:
            sent = frozenset(self._without | self._refused.get(schema, set()))
            try:
                async with aclosing(self._stream(request, sent)) as items:
                    async for item in items:
                        yield item
            except sdk.PartRefusedError as error:  # nothing was said yet
                refused = [part for part in error.parts if part not in sent and has_part(request, part)]
                if not refused:
                    raise
                part = refused[0]
                (self._refused.setdefault(schema, set()) if part in OF_A_SCHEMA else self._without).add(part)
                logger.warning("%s is asked without %s, which it refuses: %s", self._endpoint.host, part, error)
            else:
                return

    async def _stream(
        self, request: ModelRequest, without: frozenset[Part]
    ) -> AsyncGenerator[TextDelta | ModelReply, None]:
        client = await self._connected()
        from agent_host.providers.openai_compatible import sdk

        params = build_params(self._endpoint.model, request, without)
        streamed = {**params} if "stream_options" in without else {**params, "stream_options": {"include_usage": True}}
        heard, began = Heard(bound_of(request)), False
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._endpoint.timeout_s):
                    opened = await client.chat.completions.create(**streamed, stream=True)
                    chunks = await stack.enter_async_context(opened)
                began = True
                async for chunk in chunks:
                    if text := heard.take(_json(chunk)):
                        yield TextDelta(text)
                reply = heard.reply(request)
        except sdk.BREAKS as error:
            if not began or sdk.is_refusal(error):
                raise sdk.failure(error, self._endpoint, heard.usage) from error
            if heard.spoke:
                raise BrokenOffError("The reply broke off; ask again.", heard.usage) from error
            reply = await self._plain_call(client, params, request, heard.usage)
            if reply.text:
                yield TextDelta(reply.text)
        yield reply

    def warm_up(self) -> None:
        """Imports the SDK, which the deadline of a first short call should not have to pay for."""
        import_module("agent_host.providers.openai_compatible.sdk")

    async def close(self) -> None:
        """Closes the connections; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _plain_call(
        self, client: AsyncOpenAI, params: dict[str, Any], request: ModelRequest, spent: Usage | None
    ) -> ModelReply:
        """Asks once without streaming, where the server is silent until it is done; adds what was `spent` before."""
        from agent_host.providers.failing import silence
        from agent_host.providers.openai_compatible import sdk

        patience_s = 2 * self._endpoint.timeout_s
        heard = Heard(bound_of(request))
        try:
            async with asyncio.timeout(patience_s):
                whole = await client.chat.completions.create(**params, timeout=silence(patience_s))
            heard.take(_json(whole))
            reply = heard.reply(request)
        except sdk.BREAKS as error:
            raise sdk.failure(error, self._endpoint, added(spent, heard.usage), requests=2) from error
        return replace(reply, usage=added(spent, reply.usage) or Usage())

    async def _connected(self) -> AsyncOpenAI:
        """Returns the client; the first call imports the SDK in a worker thread, so that the prompt stays alive."""
        async with self._opening:
            if self._client is None:
                await asyncio.to_thread(import_module, "agent_host.providers.openai_compatible.sdk")
                from agent_host.providers.openai_compatible import sdk

                self._client = sdk.open_client(self._endpoint)
            return self._client


def _json(value: Any) -> dict[str, Any]:
    """Returns one of the SDK's values as JSON, without its warnings of types: `Heard` checks them itself."""
    return dict(value.model_dump(mode="json", exclude_none=True, warnings=False))
