"""From the contract to gRPC's handlers: every RPC of the descriptor, read strictly, its refusals told precisely."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message

from prometheus.receipts.v1 import receipts_pb2 as pb
from receipt_writer.errors import ReceiptError, RequestRefusedError
from receipt_writer.rpc.call import Context
from receipt_writer.rpc.messages import about_request
from receipt_writer.status import DETAILS_KEY, status_code, status_of

CONTRACT = pb.DESCRIPTOR.services_by_name["ReceiptWriter"]
"""The service as the proto describes it."""

PREFIX = f"/{CONTRACT.full_name}/"
"""How the path of every RPC of the contract begins."""

Behaviour: TypeAlias = Callable[[Any, Context], Awaitable[Message | None]]
"""Answers a call: given its request (or what yields its requests) and its context, returns or writes the answer."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

_MAKERS = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


Admit: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Lets a call in for as long as a block takes, or raises why not."""


def make_handlers(behaviours: Mapping[str, Behaviour], admit: Admit) -> dict[str, Handler]:
    """Return a handler for every RPC of the contract, by its path; `behaviours` go by the RPC's name.

    A call that `admit` does not let in is refused by what it raises.

    Raises:
        KeyError: An RPC of the contract has no behaviour.
    """
    return {f"{PREFIX}{one.name}": _handler(one, behaviours[one.name], admit) for one in CONTRACT.methods}


def refusing_handler(path: str, refusal: ReceiptError) -> Handler | None:
    """Return a handler that refuses every call of an RPC, None when the contract has no such RPC."""
    method = CONTRACT.methods_by_name.get(path.removeprefix(PREFIX))

    async def behaviour(_: Any, __: Context) -> None:
        raise refusal

    return _handler(method, behaviour, nullcontext) if method else None


async def refuse(context: Context, error: ReceiptError, about: Mapping[str, str]) -> None:
    """End a call with an error's code, sentence and details."""
    details = status_of(error, about).SerializeToString()
    await context.abort(status_code(error), str(error), ((DETAILS_KEY, details),))


def _handler(method: MethodDescriptor, behaviour: Behaviour, admit: Admit) -> Handler:
    streams = method.client_streaming, method.server_streaming
    request_kind, response_kind = (getattr(pb, kind.name) for kind in (method.input_type, method.output_type))
    return _MAKERS[streams](
        _told_precisely(behaviour, admit),
        request_deserializer=_strict(request_kind),
        response_serializer=response_kind.SerializeToString,
    )


def _told_precisely(behaviour: Behaviour, admit: Admit) -> Behaviour:
    async def answer(request: Any, context: Context) -> Message | None:
        try:
            if request is None:
                raise RequestRefusedError(
                    "The bytes of the request are not a message of this contract; nothing was done."
                )
            with admit():
                return await behaviour(request, context)
        except ReceiptError as error:
            await refuse(context, error, about_request(request))
            return None

    return answer


def _strict(kind: type[Message]) -> Callable[[bytes], Message | None]:
    """Return a reader of requests that answers None for what is none: gRPC would call that an internal error."""

    def read(data: bytes) -> Message | None:
        try:
            return kind.FromString(data)
        except DecodeError:
            return None

    return read
