"""The turns that began and have not reported, beside their rows in the intent journal."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from receipt_writer.errors import QueueFullError
from receipt_writer.format.signing import Signer
from receipt_writer.intents import MOST_OPEN_TURNS, Intent
from receipt_writer.journal import sign_row

JOURNAL_ROWS = 4096
"""How far the journal grows at least before the rows of recorded turns are taken out."""

_RETRY_MS = 1_000


class OpenTurns:
    """What is open, and what the journal holds of it; changed only for what is durable.

    Attributes:
        intents: The open turns, by id.
        abandoned: The ids of those that nobody will report any more.
        most: How many may be open at a time.
    """

    def __init__(self, origin: str, most: int = MOST_OPEN_TURNS) -> None:
        """Start with none; `origin` is the turns chain's."""
        self.intents: dict[str, Intent] = {}
        self.abandoned: set[str] = set()
        self.most = most
        self._origin = origin
        self._rows: dict[str, bytes] = {}
        self._in_journal, self._shorten_at = 0, JOURNAL_ROWS

    def restore(self, intents: Iterable[Intent], signer: Signer, rows: Mapping[str, bytes]) -> None:
        """Begin with these turns; `rows` are signed by `signer` already, by turn id, the others are signed now."""
        self.intents = {one.turn_id: one for one in intents}
        self._rows = {turn_id: rows.get(turn_id) or self.row(one, signer) for turn_id, one in self.intents.items()}
        self._count(len(self._rows))

    def sign_again(self, signer: Signer) -> None:
        """Sign every row with another key, since the rows of a former key count for nothing once it is revoked."""
        self.restore(list(self.intents.values()), signer, {})

    def row(self, intent: Intent, signer: Signer) -> bytes:
        """Return the journal's row of a turn."""
        return sign_row(intent, self._origin, signer)

    def rows(self) -> list[bytes]:
        """Return the journal's rows of the open turns, without line breaks."""
        return list(self._rows.values())

    def rows_after(self, begun: Mapping[str, bytes], reported: Collection[str]) -> list[bytes] | None:
        """Return what the journal is to be shortened to after a batch, None while it has not grown enough for that."""
        if self._in_journal + len(begun) < self._shorten_at:
            return None
        return [row for turn_id, row in {**self._rows, **begun}.items() if turn_id not in reported]

    def begin(self, begun: Mapping[str, Intent], rows: Mapping[str, bytes], shortened_to: int | None) -> None:
        """Take over the turns that began; `shortened_to` is how many rows the journal was left with, if it was."""
        self.intents.update(begun)
        self._rows.update(rows)
        if shortened_to is None:
            self._in_journal += len(rows)
        else:
            self._count(shortened_to)

    def close(self, turn_id: str) -> None:
        """Forget a turn that is recorded; nothing happens when it is not open."""
        self.intents.pop(turn_id, None)
        self._rows.pop(turn_id, None)
        self.abandoned.discard(turn_id)

    def require_room(self, begun: Collection[str]) -> None:
        """Refuse one more turn beside those that begin in the same batch.

        Raises:
            QueueFullError: As many are open as may be.
        """
        if len(self.intents) + len(begun) >= self.most:
            raise QueueFullError(
                f"{self.most} turns are open already; report some of them, or wait for their deadlines, and send this "
                "again.",
                _RETRY_MS,
            )

    def silent_at(self, now_ms: int) -> list[Intent]:
        """Return the turns that are past their deadline, and those that nobody will report any more."""
        return [
            intent
            for turn_id, intent in self.intents.items()
            if intent.is_silent_at(now_ms) or turn_id in self.abandoned
        ]

    def _count(self, rows: int) -> None:
        self._in_journal, self._shorten_at = rows, max(JOURNAL_ROWS, 2 * rows)


NO_ROWS: Mapping[str, bytes] = MappingProxyType({})
"""For a start that signs every row anew."""
