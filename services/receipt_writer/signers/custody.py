"""The seam behind which a ledger's keys are kept: files here, and a token, a key service or an agent fit as well.

One custody keeps one key: the one in force, and during a rotation the one that follows it. A rotation goes

    prepare_next    the next key exists durably, beside the one in force
    (the key log records the rotation, signed by both)
    promote_next    the next key is the one in force, and the old one is gone

and a start after a crash between them either promotes the next key or discards it, as the key log says.
"""

from typing import Literal, Protocol

from receipt_writer.format.signing import Signer

Use = Literal["entry", "checkpoint"]
"""What a key signs. One key never serves both, so that a stolen checkpoint key cannot write entries."""


class KeyCustody(Protocol):
    """Keeps the key of one use. Every call but `exists` may raise `KeyFileError`."""

    def exists(self) -> bool:
        """Say whether there is a key in force, fit or not."""
        ...

    def create(self) -> Signer:
        """Make the first key and return its signer once it is durable; never over an existing one."""
        ...

    def load(self) -> Signer:
        """Return the signer of the key in force."""
        ...

    def load_next(self) -> Signer | None:
        """Return the signer of a key that a rotation prepared, None when there is none."""
        ...

    def prepare_next(self) -> Signer:
        """Return the signer of the next key, durable when this returns; one that was prepared before is dropped.

        Raises:
            NotPossibleYetError: This custody makes no keys by itself; the message says what to do instead.
        """
        ...

    def promote_next(self) -> None:
        """Make the prepared key the one in force, durably and at once; the old key is gone."""
        ...

    def discard_next(self) -> None:
        """Drop the prepared key, if there is one."""
        ...
