"""RotateKey and RevokeKey: the two RPCs that ask more of a caller than to be known."""

import asyncio
import base64
import binascii
from collections.abc import Coroutine, Mapping
from typing import Any

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.credentials import bearer_token
from receipt_writer.errors import NotAllowedError, RequestRefusedError
from receipt_writer.format.entry import Entry
from receipt_writer.format.policy import KeyUse
from receipt_writer.format.signing import PUBLIC_KEY_BYTES
from receipt_writer.rotation import Rotations
from receipt_writer.rpc.call import Context
from receipt_writer.rpc.messages import entry_message

_USES: Mapping[int, KeyUse] = {pb.KEY_USE_ENTRY: "entry", pb.KEY_USE_CHECKPOINT: "checkpoint"}


class ChangingKeys:
    """RotateKey and RevokeKey.

    On the Unix socket the caller is the user who owns the ledger. From the network it must have shown a token, and
    changes the keys of that token's tenant: those of the writer's own ledger are out of the network's reach. A change
    that was begun is finished although its caller goes.
    """

    def __init__(self, rotations: Rotations) -> None:
        self._rotations = rotations

    async def rotate_key(self, request: pb.RotateKeyRequest, context: Context) -> pb.RotateKeyResponse:
        """Put a new key in the place of the one in use."""
        _require_owner(context)
        use, previous = _use(request.use), _key("previous_key", request.previous_key)
        entry = await _whole(self._rotations.rotate(use, previous, request.reason))
        return pb.RotateKeyResponse(entry=entry_message(entry), public_key=str(entry.fields["publicKey"]))

    async def revoke_key(self, request: pb.RevokeKeyRequest, context: Context) -> pb.RevokeKeyResponse:
        """Accept a key no longer."""
        _require_owner(context)
        use, key = _use(request.use), _key("public_key", request.public_key)
        entry = await _whole(self._rotations.revoke(use, key, request.reason, dict(request.at_ids)))
        return pb.RevokeKeyResponse(entry=entry_message(entry))


async def _whole(change: Coroutine[Any, Any, Entry]) -> Entry:
    return await asyncio.shield(asyncio.ensure_future(change))


def _require_owner(context: Context) -> None:
    if not context.peer().startswith("unix:") and bearer_token(context.invocation_metadata()) is None:
        raise NotAllowedError(
            "The keys of the writer's own ledger are changed over a Unix socket only, by whoever runs the writer; a "
            "token changes those of its tenant from anywhere."
        )


def _use(number: int) -> KeyUse:
    use = _USES.get(number)
    if use is None:
        raise _refused("use", f"There is no key use {number}; name KEY_USE_ENTRY or KEY_USE_CHECKPOINT.")
    return use


def _key(field: str, text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != PUBLIC_KEY_BYTES or base64.b64encode(key).decode() != text:
        raise _refused(field, f"{field} must be the base64 of a key's {PUBLIC_KEY_BYTES} bytes.")
    return key


def _refused(field: str, sentence: str) -> RequestRefusedError:
    refusal = RequestRefusedError(sentence)
    refusal.about = {"field": field}
    return refusal
