"""The signer in force, which a key change replaces while everything that signs goes on holding this one object."""

from receipt_writer.format.signing import Signer


class CurrentSigner:
    """Signs with the key in force; satisfies `format.signing.Signer`.

    `replace` is called between two commits only, so no entry is built half under one key and half under another.
    """

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    @property
    def public_key(self) -> bytes:
        """The public key in force."""
        return self._signer.public_key

    def sign(self, message: bytes) -> bytes:
        """Sign with the key in force."""
        return self._signer.sign(message)

    def replace(self, signer: Signer) -> None:
        """Put another key in force."""
        self._signer = signer
