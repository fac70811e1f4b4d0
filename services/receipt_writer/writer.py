"""The one queue and the one committer: group commit without an artificial wait (spec section 10, reliability 2.2).

Requests that arrive while a commit runs form the next batch. An answer leaves only after the batch is durable.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from receipt_writer.errors import (
    QueueFullError,
    ReceiptError,
    RequestRefusedError,
    StorageFailedError,
    WriterStoppedError,
)
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.errors import FormatError
from receipt_writer.format.schema import LAYERS
from receipt_writer.intents import Intent
from receipt_writer.ledger import (
    OPEN_LAYERS,
    Append,
    Begin,
    Command,
    Interrupt,
    Ledger,
    Outcome,
    Plan,
    Regenerate,
    Started,
)
from receipt_writer.storage.protocol import EntryStore

_log = logging.getLogger(__name__)
_LEAVING = "The writer is shutting down; send this again when it is back."

Clock = Callable[[], int]
"""Returns milliseconds since the Unix epoch; may step back."""
_Result = TypeVar("_Result")
_TURNS = 3  # of the loop: a message is read, its stream is woken, its command is queued
_SHORT_S = 0.01  # what a batch of small entries takes at most: beside a commit, others can wait for that


@dataclass(frozen=True)
class Limits:
    """How much the writer takes at once: commands in one commit, and commands that may wait.

    Bytes are those of the requests. They bound how long a batch holds up the loop (the longest entry takes it some
    milliseconds, also when it is only read back) and how much memory the queue takes.
    """

    batch: int = 256
    batch_bytes: int = 1 << 18
    queue: int = 2048
    queue_bytes: int = 1 << 22
    retry_after_ms: int = 200


Tell = Callable[[Outcome], object]
"""Takes what became of a command; called on the loop, and must neither fail nor take long."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A command in the queue. `withdraw` it before its turn and it costs no entry; later it changes nothing."""

    command: Command
    tell: Tell
    size_bytes: int = 0
    is_wanted: bool = True

    def withdraw(self) -> None:
        """Take the command back if it has not been run yet; `tell` may still be called."""
        self.is_wanted = False


class _Visit:
    """Somebody who wants the ledger between two commits: told when it is theirs, and says when they are done."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended = asyncio.Event()

    def refuse(self, refusal: ReceiptError) -> None:
        """Say that the ledger will not be theirs any more."""
        if not self.begun.done():
            self.begun.set_exception(refusal)


class Writer:
    """Runs commands one batch at a time. All methods belong to one event loop; only the store's commit leaves it.

    Attributes:
        ledger: What it writes; changed by `run` only, or by work that runs alone.
        stopped: Set when no further command will be run, after a drain or a storage failure.
        failure: The storage failure that ended the writer, None otherwise.
    """

    def __init__(self, ledger: Ledger, store: EntryStore, clock: Clock, limits: Limits) -> None:
        self.stopped = asyncio.Event()
        self.failure: StorageFailedError | None = None
        self.ledger = ledger
        self._store, self._clock, self._limits = store, clock, limits
        self._queue: deque[Waiting] = deque()
        self._queued_bytes = 0
        self._visits: deque[_Visit] = deque()
        self._arrived = asyncio.Event()
        self._draining = False
        self._clock_is_behind = False

    async def append(self, layer: str, draft: dict[str, object], size_bytes: int = 0) -> Entry:
        """Record an entry, or find the one that the same draft made before; durable when this returns.

        `size_bytes` is the length of the request, see `Limits`.

        Raises:
            ReceiptError: As `Ledger.plan` refuses, or `QueueFullError`, `WriterStoppedError`, `StorageFailedError`.
        """
        return await self._ask(Append(layer, draft), Entry, size_bytes)

    async def interrupt(self, intent: Intent) -> Entry:
        """Record that a turn never reported; durable when this returns.

        Raises:
            ReceiptError: As `append`; `AlreadyRecordedError` when it has reported meanwhile.
        """
        return await self._ask(Interrupt(intent), Entry)

    async def begin(self, command: Begin) -> Started:
        """Record that a turn began; durable when this returns.

        Raises:
            ReceiptError: As `append`.
        """
        return await self._ask(command, Started)

    async def regenerate(self, reason: str) -> Entry:
        """Record the state of every chain; return its L1 entry, durable when this returns.

        Raises:
            ReceiptError: As `append`.
        """
        return await self._ask(Regenerate(reason), Entry)

    def submit(self, command: Command, tell: Tell, size_bytes: int = 0) -> Waiting:
        """Queue a command; `tell` is called once with its outcome, after that is durable. For streams of many.

        `size_bytes` is the length of the request, see `Limits`.

        Raises:
            RequestRefusedError: It is an append to a layer of the writer's own.
            QueueFullError, WriterStoppedError: It was not queued, and `tell` is not called.
        """
        if isinstance(command, Append) and command.layer not in OPEN_LAYERS:
            raise RequestRefusedError(
                f"{command.layer} is the writer's own; append to one of: {' '.join(OPEN_LAYERS)}."
            )
        self._require_open()
        if len(self._queue) >= self._limits.queue or self._queued_bytes > self._limits.queue_bytes:
            raise QueueFullError(
                f"{len(self._queue)} appends wait already; nothing was recorded, send this again in "
                f"{self._limits.retry_after_ms} ms.",
                self._limits.retry_after_ms,
            )
        waiting = Waiting(command, tell, size_bytes)
        self._queue.append(waiting)
        self._queued_bytes += size_bytes
        self._arrived.set()
        return waiting

    async def run_alone(self, work: Callable[[], _Result]) -> _Result:
        """Run `work` on the loop between two commits: nothing is in flight, new commands wait. Return its result.

        It goes before the commands that wait already, sees every entry as committed, and may use `commit_now`. It must
        be short, since it holds up everybody. Whatever it raises is raised here.

        Raises:
            WriterStoppedError: The writer takes no more work; `work` was not run.
            StorageFailedError: `work` raised it, which has ended the writer.
        """
        self._require_open()
        visit = _Visit()
        self._visits.append(visit)
        self._arrived.set()
        try:
            await visit.begun
            return work()
        except StorageFailedError as failure:
            _log.critical("%s", failure)
            self.fail(failure)
            raise
        finally:
            visit.ended.set()

    async def run(self, after_commit: Callable[[], None]) -> None:
        """Commit batch after batch until drained or failed; `after_commit` is called on the loop after each."""
        with ThreadPoolExecutor(1, "commit") as thread:
            try:
                while not self.stopped.is_set():
                    if self._visits:
                        await self._receive(self._visits.popleft())
                        after_commit()
                    elif batch := self._take():
                        await self._run_batch(thread, batch)
                        after_commit()
                        await self._let_arrive()
                    elif self._draining:
                        self.stopped.set()
                    else:
                        self._arrived.clear()
                        await self._arrived.wait()
            finally:
                if not self.stopped.is_set():  # cancelled, or a defect: nobody may wait for answers that never come
                    self.fail(StorageFailedError("The writer ended unexpectedly; restart it."))

    def commit_now(self, commands: Sequence[Command]) -> list[Outcome]:
        """Run a batch before `run` does: what recovery has to record.

        Raises:
            StorageFailedError: The medium refused.
        """
        plan = self._plan(commands)
        if plan.is_new:
            self._store.commit(plan.batch())
            self.ledger.apply(plan)
        return plan.outcomes

    async def drain(self) -> None:
        """Take no more commands; return when those that wait are answered."""
        self._draining = True
        self._arrived.set()
        await self.stopped.wait()

    def fail(self, failure: StorageFailedError) -> None:
        """End the writer: whatever waits is told so, and nothing more is taken."""
        self.failure = self.failure or failure
        self.stopped.set()
        self._arrived.set()
        while self._queue:
            self._queue.popleft().tell(WriterStoppedError(str(failure)))
        while self._visits:
            self._visits.popleft().refuse(WriterStoppedError(str(failure)))

    def _require_open(self) -> None:
        if self._draining or self.stopped.is_set():
            raise WriterStoppedError(str(self.failure or _LEAVING))

    async def _ask(self, command: Command, kind: type[_Result], size_bytes: int = 0) -> _Result:
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        waiting = self.submit(command, partial(_answer, answer), size_bytes)
        try:
            outcome = await answer
        except asyncio.CancelledError:
            waiting.withdraw()
            raise
        if isinstance(outcome, ReceiptError):
            raise outcome
        if not isinstance(outcome, kind):
            raise TypeError(outcome)
        return outcome

    def _take(self) -> list[Waiting]:
        batch: list[Waiting] = []
        left_bytes = self._limits.batch_bytes
        while self._queue and len(batch) < self._limits.batch and left_bytes > 0:
            waiting = self._queue.popleft()
            self._queued_bytes -= waiting.size_bytes
            if waiting.is_wanted:
                batch.append(waiting)
                left_bytes -= waiting.size_bytes
        return batch

    async def _let_arrive(self) -> None:
        """Let what came during a commit reach the queue, so that it makes one batch with what stands there.

        No time is waited for: only what is ready runs. Measured at 64 callers: a fifth fewer commits, a sixth more
        entries. A queue that fills up is taken from at once, since who finds it full is refused.
        """
        limits = self._limits
        if len(self._queue) < min(limits.batch, limits.queue // 2) and self._queued_bytes < limits.batch_bytes:
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    async def _receive(self, visit: _Visit) -> None:
        if not visit.begun.done():  # else its caller gave up before its turn
            visit.begun.set_result(None)
            await visit.ended.wait()

    async def _run_batch(self, thread: ThreadPoolExecutor, batch: list[Waiting]) -> None:
        outcomes: Sequence[Outcome] = [WriterStoppedError(_LEAVING)] * len(batch)
        now = asyncio.get_running_loop().time
        began = planned = committed = now()
        try:
            plan = self._plan([waiting.command for waiting in batch])
            planned = committed = now()
            if plan.is_new:
                await asyncio.get_running_loop().run_in_executor(thread, self._store.commit, plan.batch())
                committed = now()
                self.ledger.apply(plan)
            outcomes = plan.outcomes
        except StorageFailedError as failure:
            _log.critical("%s", failure)
            outcomes = [failure] * len(batch)
            self.fail(failure)
        finally:
            for waiting, outcome in zip(batch, outcomes, strict=True):
                waiting.tell(outcome)
        await self._rest(planned - began, committed - planned)

    async def _rest(self, held_up_s: float, left_free_s: float) -> None:
        """Leave the loop to others for as long as a batch held it up.

        A commit's sync does that by itself. A batch that only reads old entries back has none, and one after another of
        those kept every other call waiting for seconds (measured: GetHead beside 40 streams that resend 57 kB).
        """
        is_short = left_free_s > 0 and held_up_s < _SHORT_S
        if held_up_s > left_free_s and not (is_short or self._draining):
            await asyncio.sleep(held_up_s - left_free_s)

    def _plan(self, commands: Sequence[Command]) -> Plan:
        # On the loop, not in the thread: signing in a second thread made the two fight for the interpreter's lock, and
        # cost both throughput and latency (measured: 64 callers, 1.5 to 2 times).
        now_ms = self._clock()
        self._watch_clock(now_ms)
        return self.ledger.plan(commands, now_ms, self._recall)

    def _recall(self, layer: str, entry_id: int) -> Entry:
        chain = LAYERS[layer].chain
        (line,) = self._store.read(chain, entry_id, 1)
        self.ledger.indexes[layer].require_recorded(entry_id, line)
        try:
            return parse_line(layer, line)
        except FormatError as error:
            raise StorageFailedError(f"Entry {entry_id} of the chain {chain} cannot be read back: {error}") from error

    def _watch_clock(self, now_ms: int) -> None:
        behind_ms = max(index.head.recorded_at_ms for index in self.ledger.indexes.values()) - now_ms
        if behind_ms > 0 and not self._clock_is_behind:
            _log.warning("The clock stepped back by %d ms; recordedAtMs is held until it has caught up.", behind_ms)
        self._clock_is_behind = behind_ms > 0


def _answer(caller: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not caller.done():
        caller.set_result(outcome)
