"""The reply drafter: every call of the loop as a decision under its spec, with one L12 entry (constrained-ai.md).

The entry is appended before the reply is handed on, whatever the call came to: an answer, a failure of the provider,
a deadline, or a person who changed their mind.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from agent_host.cancellation import take_back_cancellation, to_the_end
from agent_host.constrained.options import SpecRegistry
from agent_host.constrained.recording import Call, Outcome, call_event, decision_draft
from agent_host.constrained.retrying import Attempts, Patience
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.errors import BrokenOffError, ProviderError, ProviderUnavailableError
from agent_host.identifiers import new_call_id
from agent_host.printed_call import printed_call
from agent_host.providers.protocol import (
    Block,
    JsonValue,
    ModelReply,
    ModelRequest,
    Provider,
    Text,
    TextDelta,
    ToolUse,
    Usage,
)
from agent_host.receipts.protocol import Ledger
from agent_host.tracing.events import CallKind, Emit, ExitState, Notice
from agent_host.usage import Meter, unmetered

PRINTED: Final = (
    "The model wrote a call of {name} as words and did not make it: nothing was done. Choose a model that was trained "
    "to call tools."
)


@dataclass(frozen=True)
class _Answer:
    """What one call came to."""

    exit_state: ExitState
    reply: ModelReply | None = None
    usage: Usage | None = None  # what was counted, None when nobody knows


@dataclass
class _Passed:
    """Where a reply's text goes, and whether any has gone there: what was shown can't be asked for anew."""

    on_text: Callable[[str], None]
    spoke: bool = False

    def __call__(self, text: str) -> None:
        self.spoke = self.spoke or bool(text)
        self.on_text(text)


class ReplyDrafter:
    """The loop's `Model`: a provider under the reply-drafter spec, for one turn.

    A call that no word came of is tried again with `patience`, whose breakers the turn's small calls share.
    """

    def __init__(
        self,
        provider: Provider,
        spec: RuntimeAISpec,
        ledger: Ledger,
        emit: Emit,
        *,
        turn_id: str,
        now_ms: Callable[[], int],
        cost: Callable[[Usage], int | None],
        meter: Meter = unmetered,
        registry: SpecRegistry | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._provider = provider
        self._spec = spec
        self._ledger = ledger
        self._emit = emit
        self._turn_id = turn_id
        self._now_ms = now_ms
        self._cost = cost
        self._meter = meter
        self._registry = registry
        self._patience = patience or Patience()

    async def reply(self, request: ModelRequest, kind: CallKind, on_text: Callable[[str], None]) -> ModelReply:
        """Answers one request and records the decision.

        Raises:
            BrokenOffError: some words were passed on, and no more came; the entry says so.
            ProviderError: the provider failed or ran past the spec's deadline; the entry says so.
        """
        if self._registry is not None:
            await self._registry.register(self._spec)
        started_ms, passed = self._now_ms(), _Passed(on_text)
        attempts = Attempts(self._provider.identity, self._patience)
        try:
            async with asyncio.timeout(self._spec.max_latency_ms / 1000) as limit:
                reply = await attempts.reply(
                    lambda: self._stream(request, passed), limit.when(), lambda: not passed.spoke
                )
        except asyncio.CancelledError:
            take_back_cancellation()
            await to_the_end(self._record(request, kind, started_ms, _Answer("failed_closed")))
            raise
        except TimeoutError as error:
            attempts.timed_out()
            await self._conclude(request, kind, started_ms, _Answer("fallback_timeout"))
            seconds = self._spec.max_latency_ms // 1000
            if passed.spoke:
                raise BrokenOffError(f"The reply broke off: it was not done within {seconds} s; ask again.") from error
            raise ProviderUnavailableError(f"The model gave no answer within {seconds} s; try again.") from error
        except ProviderError:
            await self._conclude(request, kind, started_ms, _Answer("fallback_provider", usage=attempts.usage))
            raise
        except Exception:  # a fault of ours; the call was made all the same, and has its entry
            await self._conclude(request, kind, started_ms, _Answer("fallback_provider"))
            raise
        await self._conclude(request, kind, started_ms, _Answer("ok", reply, attempts.usage))
        if (name := printed_call(request, reply)) is not None:
            self._emit(Notice(PRINTED.format(name=name)))
        return reply

    async def _conclude(self, request: ModelRequest, kind: CallKind, started_ms: int, answer: _Answer) -> None:
        """Records the decision to its end; a cancellation that comes meanwhile is raised after it."""
        _, cancelled = await to_the_end(self._record(request, kind, started_ms, answer))
        if cancelled:
            raise asyncio.CancelledError

    async def _stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        reply: ModelReply | None = None
        async for item in self._provider.stream(request):
            if isinstance(item, TextDelta):
                on_text(item.text)
            else:
                reply = item
        if reply is None:
            raise ProviderUnavailableError("The model's stream ended without a reply; try again.")
        return reply

    async def _record(self, request: ModelRequest, kind: CallKind, started_ms: int, answer: _Answer) -> None:
        reply, fell_back = answer.reply, answer.exit_state.startswith("fallback")
        call = Call(self._spec, self._provider.identity, new_call_id(), self._turn_id, request_value(request), kind)
        outcome = Outcome(
            exit_state=answer.exit_state,
            output=reply_value(reply) if reply else self._spec.deterministic_default if fell_back else None,
            schema_valid=reply is not None,
            fell_back=fell_back,
            latency_ms=max(0, self._now_ms() - started_ms),
            usage=answer.usage,
            stop_reason=reply.stop_reason if reply else None,
        )
        event = call_event(call, outcome, None, self._cost)
        self._meter(event, self._turn_id)  # before the entry, as it is paid for whatever comes of that
        draft, openings = decision_draft(call, outcome)
        self._emit(replace(event, entry_id=await self._ledger.append_decision(draft, openings)))


def request_value(request: ModelRequest) -> dict[str, JsonValue]:
    """Returns what a call's input commitment covers: the prompt, the rows and the names of the tools offered."""
    return {
        "system": request.system,
        "messages": [
            {"role": message.role, "blocks": [_block_value(block) for block in message.blocks]}
            for message in request.messages
        ],
        "tools": [tool.name for tool in request.tools],
        "tool_choice": request.tool_choice,
    }


def reply_value(reply: ModelReply) -> JsonValue:
    """Returns what a call's output commitment covers: the reply's words and tool calls."""
    return {"blocks": [_block_value(block) for block in reply.blocks]}


def _block_value(block: Block) -> JsonValue:
    """Returns a block in the reply-drafter's closed schema, which holds a tool's free arguments as JSON text."""
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case ToolUse():
            arguments = json.dumps(block.arguments, ensure_ascii=False, sort_keys=True, default=dict)
            return {"type": "tool_use", "id": block.id, "name": block.name, "arguments": arguments}
        case _:
            return {
                "type": "tool_result",
                "tool_use_id": block.tool_use_id,
                "content": block.content,
                "is_error": block.is_error,
            }
