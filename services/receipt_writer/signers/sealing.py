"""A seed under a passphrase: Argon2id makes a key of the passphrase, a SecretBox keeps the seed (spec section 7).

The parameters stand beside the box, so a file stays readable when the limits for new ones are raised.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import SecretBox
from nacl.utils import random

KDF = "argon2id"
"""What makes a key of the passphrase (RFC 9106)."""
CIPHER = "xsalsa20-poly1305"
"""What the box is: NaCl's secretbox, its 24-byte nonce in front."""
MOST_OPERATIONS = 16
"""The dearest file that is still opened: passes …"""
MOST_MEMORY_BYTES = 1 << 30
"""… and memory. A damaged or planted file must not take the machine."""


@dataclass(frozen=True)
class Limits:
    """What opening a new box costs: Argon2id's passes and memory. The default is libsodium's `moderate`: 256 MiB."""

    operations: int = argon2id.OPSLIMIT_MODERATE
    memory_bytes: int = argon2id.MEMLIMIT_MODERATE


def seal(seed: bytes, passphrase: bytes, limits: Limits) -> dict[str, object]:
    """Return the members of a sealed seed; each call takes a salt and a nonce of its own.

    Raises:
        MemoryError: The system does not give the memory that the limits ask for.
    """
    salt = random(argon2id.SALTBYTES)
    box = SecretBox(_derive(passphrase, salt, limits)).encrypt(seed)
    return {
        "kdf": KDF,
        "opsLimit": limits.operations,
        "memLimitBytes": limits.memory_bytes,
        "salt": base64.b64encode(salt).decode(),
        "cipher": CIPHER,
        "box": base64.b64encode(box).decode(),
    }


def unseal(sealed: Mapping[str, Any], passphrase: bytes) -> bytes | None:
    """Return the seed of a sealed one, None when the passphrase is another or the box was altered.

    Raises:
        ValueError, KeyError, TypeError: The members are not those of `seal`, or ask for more than is ever given.
        MemoryError: The system does not give the memory that opening the box takes.
    """
    operations, memory_bytes = sealed["opsLimit"], sealed["memLimitBytes"]
    if sealed["kdf"] != KDF or sealed["cipher"] != CIPHER:
        raise ValueError(KDF)
    if not (1 <= operations <= MOST_OPERATIONS and argon2id.MEMLIMIT_MIN <= memory_bytes <= MOST_MEMORY_BYTES):
        raise ValueError("limits")
    salt = base64.b64decode(sealed["salt"], validate=True)
    box = base64.b64decode(sealed["box"], validate=True)
    if len(salt) != argon2id.SALTBYTES:
        raise ValueError("salt")
    key = _derive(passphrase, salt, Limits(operations, memory_bytes))
    try:
        return SecretBox(key).decrypt(box)
    except CryptoError:
        return None


def _derive(passphrase: bytes, salt: bytes, limits: Limits) -> bytes:
    try:
        return argon2id.kdf(SecretBox.KEY_SIZE, passphrase, salt, limits.operations, limits.memory_bytes)
    except RuntimeError as error:  # libsodium's only reason to fail here
        raise MemoryError(limits.memory_bytes) from error
