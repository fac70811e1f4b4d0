"""The trust policy: which keys may sign which part of one chain. It comes from outside the chain (RF-18, RF-19)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from receipt_writer.format.canonical import MAX_INTEGER, decode_strict
from receipt_writer.format.digest import split_origin
from receipt_writer.format.errors import EncodingError, OriginError, PolicyError, SchemaError, UnsafeKeyError
from receipt_writer.format.kinds import Base64, Choice, Integer, Member, Nullable, Record, Rows, Text
from receipt_writer.format.signing import PUBLIC_KEY_BYTES, precheck_key

KeyUse = Literal["entry", "checkpoint"]
"""What a trusted key may sign."""

_KEY = Record(
    (
        Member("publicKey", Base64(PUBLIC_KEY_BYTES)),
        Member("use", Choice(("entry", "checkpoint"))),
        Member("fromId", Integer(1), optional=True),
        Member("toId", Nullable(Integer()), optional=True),
    )
)
_POLICY = Record(
    (
        Member("origin", Text()),
        Member("keys", Rows(_KEY)),
        Member("witnesses", Rows(Text()), optional=True),
        Member("quorum", Integer(), optional=True),
    )
)


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key, what it may sign, and for which ids (a checkpoint's size counts as its id); `to_id` None: no end.

    Raises:
        PolicyError: the key is unsafe, or the range holds no id.
    """

    public_key: bytes
    use: KeyUse
    from_id: int = 1
    to_id: int | None = None

    def __post_init__(self) -> None:
        try:
            precheck_key(self.public_key)
        except UnsafeKeyError as error:
            raise PolicyError(f"A trusted key cannot be used: {error}") from None
        if not 1 <= self.from_id <= (MAX_INTEGER if self.to_id is None else self.to_id):
            raise PolicyError("A trusted key's range must start at 1 or later and must not end before it starts.")

    def covers(self, entry_id: int) -> bool:
        """Say whether the key's range holds this id."""
        return self.from_id <= entry_id and (self.to_id is None or entry_id <= self.to_id)


@dataclass(frozen=True, slots=True)
class Policy:
    """Whom a verifier of one chain trusts.

    `witnesses` are verifier keys of other parties in the C2SP signed-note form; `quorum` of them must have cosigned a
    checkpoint.

    Raises:
        PolicyError: a part cannot be used, one key has both uses, or the quorum is more than the witnesses.
    """

    origin: str
    keys: tuple[TrustedKey, ...]
    witnesses: tuple[str, ...] = ()
    quorum: int = 0

    def __post_init__(self) -> None:
        try:
            split_origin(self.origin)
        except OriginError as error:
            raise PolicyError(f"The policy's origin cannot be used: {error}") from None
        if self._used_by("entry") & self._used_by("checkpoint"):
            raise PolicyError("One key is trusted for entries and for checkpoints; each use needs a key of its own.")
        if not 0 <= self.quorum <= len(self.witnesses):
            raise PolicyError("The quorum must lie between 0 and the number of witnesses.")

    def keys_for(self, use: KeyUse, entry_id: int) -> tuple[bytes, ...]:
        """Return the public keys that are trusted for this use at this id."""
        return tuple(key.public_key for key in self.keys if key.use == use and key.covers(entry_id))

    def to_json(self) -> bytes:
        """Return the policy file's bytes: one member a line, indented by one space, no line break at the end."""
        document = {
            "origin": self.origin,
            "keys": [
                {
                    "publicKey": base64.b64encode(key.public_key).decode(),
                    "use": key.use,
                    "fromId": key.from_id,
                    "toId": key.to_id,
                }
                for key in self.keys
            ],
            "witnesses": list(self.witnesses),
            "quorum": self.quorum,
        }
        return json.dumps(document, indent=1, ensure_ascii=False).encode()

    def _used_by(self, use: KeyUse) -> frozenset[bytes]:
        return frozenset(key.public_key for key in self.keys if key.use == use)


def is_trusted(keys: Iterable[TrustedKey], public_key: bytes, use: KeyUse, entry_id: int) -> bool:
    """Say whether one of `keys` is this key, for this use, at this id."""
    return any(key.public_key == public_key and key.use == use and key.covers(entry_id) for key in keys)


def parse_policy(data: bytes) -> Policy:
    """Return the policy of a policy file; members may stand in any order and with any white space.

    Left out, `fromId` is 1, `toId` null, `witnesses` none and `quorum` 0.

    Raises:
        PolicyError: not strict JSON, a member is missing, unknown or wrong, or the policy cannot be used.
    """
    try:
        members = cast("dict[str, Any]", _POLICY.conform(decode_strict(data)))
    except (EncodingError, SchemaError) as error:
        raise PolicyError(f"The policy cannot be read: {error}") from None
    return Policy(
        origin=members["origin"],
        keys=tuple(
            TrustedKey(base64.b64decode(key["publicKey"]), key["use"], key.get("fromId", 1), key.get("toId"))
            for key in members["keys"]
        ),
        witnesses=tuple(members.get("witnesses", ())),
        quorum=members.get("quorum", 0),
    )
