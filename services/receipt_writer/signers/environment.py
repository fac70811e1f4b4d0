"""A signing key from the environment, for containers whose secrets come as variables (spec section 7).

    PROMETHEUS_RECEIPTS_ENTRY_SEED       PROMETHEUS_RECEIPTS_CHECKPOINT_SEED         the keys in force
    PROMETHEUS_RECEIPTS_ENTRY_SEED_NEXT  PROMETHEUS_RECEIPTS_CHECKPOINT_SEED_NEXT    what a rotation takes next

Each holds base64 of 32 random bytes. The writer cannot set a variable, so it brings the next key in only when that is
given already; afterwards the key log says which of the two is in force, and the first variable may follow at leisure.
"""

import base64

from receipt_writer.errors import KeyFileError, NotPossibleYetError
from receipt_writer.signers.custody import Use
from receipt_writer.signers.local import SEED_BYTES, LocalSigner


class EnvironmentCustody:
    """Satisfies `signers.custody.KeyCustody` with seeds that somebody else keeps; nothing of them is in a message."""

    def __init__(self, use: Use, seed: str, next_seed: str | None = None) -> None:
        self._use, self._seed, self._next_seed = use, seed, next_seed

    def exists(self) -> bool:
        """Say yes: the variable is set."""
        return True

    def create(self) -> LocalSigner:
        """Return the signer of the seed: whoever set the variable made the key."""
        return self.load()

    def load(self) -> LocalSigner:
        """Return the signer of the seed.

        Raises:
            KeyFileError: The variable is not base64 of 32 bytes.
        """
        return _signer(seed_variable(self._use), self._seed)

    def load_next(self) -> LocalSigner | None:
        """Return the signer of the next seed, None when it is not set.

        Raises:
            KeyFileError: The variable is not base64 of 32 bytes.
        """
        if self._next_seed is None:
            return None
        return _signer(next_seed_variable(self._use), self._next_seed)

    def prepare_next(self) -> LocalSigner:
        """Return the signer of the next seed.

        Raises:
            NotPossibleYetError: It is not set, or is the seed in force: a seed that only this process knew would be
                lost with it.
        """
        following = self.load_next()
        if following is None or following.public_key == self.load().public_key:
            raise NotPossibleYetError(
                f"The {self._use} key comes from the environment, which the writer cannot change; set "
                f"{next_seed_variable(self._use)} to base64 of 32 new random bytes, restart the writer, then rotate."
            )
        return following

    def promote_next(self) -> None:
        """Do nothing: the key log says which seed is in force."""

    def discard_next(self) -> None:
        """Do nothing: the next seed waits for its rotation."""


def seed_variable(use: Use) -> str:
    """Return the name of the variable that holds the seed of a use."""
    return f"PROMETHEUS_RECEIPTS_{use.upper()}_SEED"


def next_seed_variable(use: Use) -> str:
    """Return the name of the variable that holds the seed of a use that a rotation brings in."""
    return f"{seed_variable(use)}_NEXT"


def _signer(variable: str, text: str) -> LocalSigner:
    try:
        seed = base64.b64decode(text, validate=True)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise KeyFileError(f"{variable} is not base64 of 32 bytes; set it to the seed of an Ed25519 key.")
    return LocalSigner.from_seed(seed)
