"""A client of the contract, for the command line: one call at a time, every refusal in the writer's own words."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from prometheus.receipts.v1 import receipts_pb2 as pb
from prometheus.receipts.v1 import receipts_pb2_grpc
from receipt_writer.errors import EntryNotFoundError, RequestRefusedError, WriterCallError
from receipt_writer.format.schema import layer_of_chain
from receipt_writer.listen import Address, TcpAddress

_PATIENCE_S = 30.0
_USES = {"entry": pb.KEY_USE_ENTRY, "checkpoint": pb.KEY_USE_CHECKPOINT}
_BEGINS = {"created", "rotated"}
_LAYERS = {name.split("_")[1]: name for name, number in pb.Layer.items() if number}


@dataclass(frozen=True)
class Access:
    """How to reach a writer: its address, a bearer token, and the certificates to trust (TLS) if any."""

    address: Address
    token: str | None = field(default=None, repr=False)
    ca_file: Path | None = None


@dataclass(frozen=True)
class Seen:
    """What a watched chain showed next: an entry's line, or a checkpoint's note."""

    line: bytes | None
    note: str | None


class Caller:
    """Calls a running writer. Every method may raise `WriterCallError`, whose sentence is the writer's."""

    def __init__(self, channel: grpc.Channel, metadata: tuple[tuple[str, str], ...]) -> None:
        """Call over a channel that is open."""
        self._stub = receipts_pb2_grpc.ReceiptWriterStub(channel)  # type: ignore[no-untyped-call]
        self._metadata = metadata

    def append(self, chain: str, draft_json: str) -> bytes:
        """Record an entry of any chain that callers write; return its line. The writer reads the draft, strictly."""
        request = pb.AppendRequest(layer=_layer(chain), draft_json=draft_json)
        return _line(self._call(self._stub.Append, request).entry)

    def state(self, *, fresh: bool) -> bytes:
        """Return the line of the newest state, after making one of the present heads when `fresh`."""
        return _line(self._call(self._stub.GetState, pb.GetStateRequest(fresh=fresh)).entry)

    def key_in_force(self, use: str) -> str:
        """Return the key that signs entries or checkpoints now, in base64: the last that the writer's key log tells of.

        Raises:
            EntryNotFoundError: It tells of none.
        """
        request = pb.ListEntriesRequest(layer=pb.LAYER_L3_KEYS, newest_first=True)
        answers = self._stub.ListEntries(request, timeout=_PATIENCE_S, metadata=self._metadata)
        try:
            for answer in answers:
                event = json.loads(answer.entry.line)
                if event["use"] == use and event["event"] in _BEGINS:
                    return str(event["publicKey"])
        except grpc.RpcError as error:
            raise _refused(error) from error
        finally:
            answers.cancel()
        raise EntryNotFoundError(f"The writer's key log tells of no {use} key; name it with --previous-key.")

    def rotate(self, use: str, previous_key: str, reason: str) -> bytes:
        """Put a new key in the place of the one that signs; return the line of the key log."""
        request = pb.RotateKeyRequest(use=_USES[use], previous_key=previous_key, reason=reason)
        return _line(self._call(self._stub.RotateKey, request).entry)

    def revoke(self, use: str, public_key: str, reason: str, at_ids: Mapping[str, int]) -> bytes:
        """Accept a key no longer; return the line of the key log."""
        request = pb.RevokeKeyRequest(use=_USES[use], public_key=public_key, reason=reason, at_ids=dict(at_ids))
        return _line(self._call(self._stub.RevokeKey, request).entry)

    def watch(self, chain: str, from_id: int) -> Iterator[Seen]:
        """Yield a chain from an id on, then what comes, until the writer leaves."""
        stream = self._stub.Watch(pb.WatchRequest(layer=_layer(chain), from_id=from_id), metadata=self._metadata)
        try:
            for answer in stream:
                is_entry = answer.WhichOneof("event") == "entry"
                yield Seen(_line(answer.entry), None) if is_entry else Seen(None, answer.checkpoint.note)
        except grpc.RpcError as error:
            raise _refused(error) from error
        finally:
            stream.cancel()

    def _call(self, method: Callable[..., Any], request: object) -> Any:
        try:
            return method(request, timeout=_PATIENCE_S, metadata=self._metadata)
        except grpc.RpcError as error:
            raise _refused(error) from error


@contextmanager
def calling(access: Access) -> Iterator[Caller]:
    """Open a channel to a writer.

    Raises:
        RequestRefusedError: A file that was named cannot be read.
    """
    with _channel(access) as channel:
        yield Caller(channel, _metadata(access.token))


def _channel(access: Access) -> grpc.Channel:
    if access.ca_file is None:
        return grpc.insecure_channel(access.address.target)
    if not isinstance(access.address, TcpAddress):
        raise RequestRefusedError("A Unix socket has no TLS; leave --tls-ca out.")
    return grpc.secure_channel(access.address.target, grpc.ssl_channel_credentials(_read(access.ca_file)))


def read_token(path: Path) -> str:
    """Return the token that a file holds.

    Raises:
        RequestRefusedError: It cannot be read, or holds no token.
    """
    token = _read(path).decode(errors="replace").strip()
    if not token.isascii() or not token.isprintable() or not token:
        raise RequestRefusedError(f"{path} holds no token; write into it what `receipt-writer token add` printed.")
    return token


def _metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("authorization", f"Bearer {token}"),)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RequestRefusedError(f"{path} cannot be read: {reason}.") from error


def _layer(chain: str) -> str:
    """Return the layer of a chain as the enum names it."""
    return _LAYERS[layer_of_chain(chain).name]


def _line(entry: pb.Entry) -> bytes:
    return entry.line.encode()


def _refused(error: grpc.RpcError) -> WriterCallError:
    details = error.details() if isinstance(error, grpc.Call) else None
    return WriterCallError(details or "The writer did not answer; see whether it runs.")
