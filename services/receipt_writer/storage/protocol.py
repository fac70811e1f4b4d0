"""The seam between the writer and what keeps the entries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from receipt_writer.format.entry import Entry
from receipt_writer.format.signing import Signer


@dataclass(frozen=True)
class Mark:
    """How far a chain reaches: the newest entry's id and hash (0 and the genesis hash when it is empty)."""

    size: int
    hash: str


@dataclass(frozen=True)
class Batch:
    """What one commit makes durable: all of it, or the process ends."""

    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)  # by chain name, in id order
    intents: Sequence[bytes] = ()  # journal lines without their line break
    open_intents: Sequence[bytes] | None = None  # every row that still matters, when the journal is to be shortened
    covering: str = ""  # the chain whose lines are about the others': they reach the medium after all of those


class EntryStore(Protocol):
    """Keeps chains of lines, a journal of intents and the newest checkpoints, for one writer process at a time.

    Use: replay `lines` of every chain, `settle`, then `commit` again and again. After a write or sync that failed the
    store refuses everything: what the medium holds is known only by opening anew (reliability 0.3).
    """

    def committed(self, chain: str) -> Mark | None:
        """Return how far the last commit of this chain reached, None when no commit point is known."""
        ...

    def recognise(self, chain: str, first_id: int, lengths: Sequence[int], digest: bytes) -> bytes | None:
        """Return the last of the lines from `first_id` on if they are those of these lengths and this SHA-256.

        `digest` covers them as they stand in the chain, line breaks included; None when other lines stand there, or
        fewer. Every line before `first_id` must have been recognised or yielded; only before `settle`.

        Raises:
            StorageFailedError: They could not be read.
        """
        ...

    def lines(self, chain: str, known: int = 0) -> Iterator[bytes]:
        """Yield the stored lines behind the first `known` in order, without line breaks; only before `settle`.

        The first `known` lines must have been recognised or yielded before.

        Raises:
            LedgerBehindError: The chain ends before its commit point.
            StorageFailedError: It could not be read.
        """
        ...

    def intents(self) -> list[bytes]:
        """Return the journal's complete lines, oldest first."""
        ...

    def has_signed_intents(self) -> bool:
        """Say whether the journal is known to hold signed rows only: not before the first `settle` of this version."""
        ...

    def settle(
        self, marks: Mapping[str, Mark], intents: Sequence[bytes], now_ms: int, refused: Sequence[bytes] = ()
    ) -> list[str]:
        """End the recovery once every chain is judged good: begin a new epoch and shorten the journal to `intents`.

        `refused` are rows of the journal that are to be set aside. Returns what was set aside, one sentence each.

        Raises:
            StorageFailedError: The medium refused.
        """
        ...

    def commit(self, batch: Batch) -> None:
        """Return only when everything in the batch survives `kill -9` and power loss.

        Raises:
            StorageFailedError: The medium refused, or another process wrote to the chains.
        """
        ...

    def replace_intents(self, intents: Sequence[bytes]) -> None:
        """Leave only these rows in the journal, durably; of each turn among them it has a row already.

        Raises:
            StorageFailedError: The medium refused, or another process wrote to the chains.
        """
        ...

    def change_signer(self, signer: Signer) -> None:
        """Sign the commit point with another key from now on; durable when this returns, or with `settle` before it.

        Raises:
            StorageFailedError: The medium refused, or another process wrote to the chains.
        """
        ...

    def read(self, chain: str, first_id: int, count: int) -> list[bytes]:
        """Return up to `count` lines from `first_id` on (ids count from 1); fewer at the chain's end.

        Raises:
            StorageFailedError: They could not be read.
        """
        ...

    def checkpoint(self, chain: str) -> bytes | None:
        """Return the newest checkpoint's note, None when there is none.

        Raises:
            StorageFailedError: It could not be read.
        """
        ...

    def checkpoint_copy(self, chain: str) -> bytes | None:
        """Return the copy of the newest checkpoint that is kept apart from the chains, None when there is none.

        It does not go back in time with chains that somebody puts back from an old backup.

        Raises:
            StorageFailedError: It could not be read.
        """
        ...

    def write_checkpoint(self, chain: str, note: bytes) -> None:
        """Replace the chain's checkpoint and then its copy, durably.

        Raises:
            StorageFailedError: The medium refused.
            OutOfHandlesError: No file could be opened for now; the same call is safe to make again.
        """
        ...

    def require_owner(self) -> None:
        """Look whether the chains still belong to this writer; `commit` does so by itself.

        Raises:
            TakenOverError: Another writer took over, by its operator's word.
            StorageFailedError: It could not be found out.
        """
        ...

    def close(self) -> None:
        """Let another writer have the chains."""
        ...
