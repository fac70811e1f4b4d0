"""A signing key inside this process; satisfies `format.signing.Signer`."""

from dataclasses import dataclass, field
from functools import cached_property

from nacl.bindings import crypto_sign, crypto_sign_BYTES
from nacl.signing import SigningKey

SEED_BYTES = 32
"""Length of the secret that an Ed25519 key is made of (RFC 8032)."""


@dataclass(frozen=True)
class LocalSigner:
    """An Ed25519 key in memory. It does not show itself: its text names no secret."""

    _key: SigningKey = field(repr=False)

    @classmethod
    def from_seed(cls, seed: bytes) -> "LocalSigner":
        """Return the signer of a 32-byte seed."""
        return cls(SigningKey(seed))

    @classmethod
    def generate(cls) -> "LocalSigner":
        """Return the signer of a new random key."""
        return cls(SigningKey.generate())

    @property
    def seed(self) -> bytes:
        """The secret itself, for whoever keeps it."""
        return bytes(self._key)

    @cached_property
    def public_key(self) -> bytes:
        """The 32 bytes that others verify with."""
        return bytes(self._key.verify_key)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte signature of a message (RFC 8032)."""
        return crypto_sign(message, self._secret)[:crypto_sign_BYTES]  # what `SigningKey.sign` does, without its copies

    @cached_property
    def _secret(self) -> bytes:
        return self.seed + self.public_key  # the form in which libsodium takes it
