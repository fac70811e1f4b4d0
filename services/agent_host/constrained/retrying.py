"""How often and when a model is asked, for every call alike: bounded, with jitter, and never against its server's word.

A provider sends one request when it is asked, or two where a broken stream is replaced by a plain request. All requests
of a call come out of one allowance here, and nothing beneath asks again by itself.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from agent_host.constrained.breaker import Breakers
from agent_host.errors import OverlongReplyError, ProviderError, ProviderRefusedError, ProviderUnavailableError
from agent_host.providers.protocol import Identity, ModelReply, Usage, added

FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 5.0
LONGEST_ASKED_WAIT_S: Final = 20.0
"""The longest wait that a server may ask for: a person would rather be told."""


@dataclass(frozen=True)
class Patience:
    """What a model that gives no answer is asked again with.

    `retries` bounds the requests after the first one. `may_ask` is asked before each request, and raises where none may
    be sent. Waits double from `first_wait_s` on and are drawn from all of it (full jitter).
    """

    breakers: Breakers = field(default_factory=Breakers)
    retries: int = 2
    first_wait_s: float = FIRST_WAIT_S
    may_ask: Callable[[], None] = lambda: None
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    draw: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass
class Attempts:
    """The requests of one call to one model: how many failed, and what all of them counted."""

    identity: Identity
    patience: Patience
    usage: Usage | None = None
    _failed: int = 0

    async def reply(
        self, ask: Callable[[], Awaitable[ModelReply]], deadline: float | None, may_retry: Callable[[], bool]
    ) -> ModelReply:
        """Asks until there is a reply, an end to the retries, or a wait that is longer than `deadline` (loop time).

        `may_retry` is asked after each failure.

        Raises:
            ProviderError: no usable answer; the last failure, or that the model is left alone.
            HostError: `may_ask` raised it.
        """
        breakers, now_ms = self.patience.breakers, self.patience.now_ms
        while True:
            self._check()
            try:
                reply = await ask()
            except ProviderUnavailableError as error:
                self.usage = added(self.usage, error.usage)
                breakers.failed(self.identity, now_ms())
                if (wait_s := self._wait_s(error, deadline)) is None or not may_retry():
                    raise
                await self.patience.sleep(wait_s)
            except ProviderError as error:
                self.usage = added(self.usage, error.usage)
                if isinstance(error, ProviderRefusedError | OverlongReplyError):
                    breakers.answered(self.identity)
                raise
            else:
                self.usage = added(self.usage, reply.usage)
                breakers.answered(self.identity)
                return reply

    def timed_out(self) -> None:
        """Counts the call's deadline as a failure of the model."""
        self.patience.breakers.failed(self.identity, self.patience.now_ms())

    def _check(self) -> None:
        """Checks that a request may be sent; a call that sends none cost nothing, which is known."""
        before = self.usage
        if self._failed == 0 and self.usage is None:
            self.usage = Usage()
        self.patience.may_ask()
        breakers = self.patience.breakers
        if not breakers.allows(self.identity, self.patience.now_ms()):
            seconds = breakers.cool_down_ms // 1000
            told = f"{self.identity.model} failed too often just now and is left alone for up to {seconds} s."
            raise ProviderUnavailableError(told, self.usage)
        self.usage = before

    def _wait_s(self, error: ProviderUnavailableError, deadline: float | None) -> float | None:
        """Returns how long to wait before the next request; None when there is none."""
        self._failed += error.requests
        if self._failed > self.patience.retries:
            return None
        longest: float = min(LONGEST_WAIT_S, self.patience.first_wait_s * 2**self._failed)
        drawn = longest * self.patience.draw()
        if error.wait_s is None:
            return drawn
        left_s = LONGEST_ASKED_WAIT_S if deadline is None else deadline - asyncio.get_running_loop().time()
        asked = error.wait_s + drawn
        return asked if asked < min(left_s, LONGEST_ASKED_WAIT_S) else None
