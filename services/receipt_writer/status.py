"""Errors as gRPC tells them: a status code, and `google.rpc.ErrorInfo` in `grpc-status-details-bin`."""

from collections.abc import Mapping
from types import MappingProxyType

from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc import StatusCode

from receipt_writer.errors import (
    AlreadyRecordedError,
    CredentialRefusedError,
    DraftRefusedError,
    EntryNotFoundError,
    LedgerBehindError,
    LedgerDamagedError,
    NotAllowedError,
    NotPossibleYetError,
    OutOfHandlesError,
    QueueFullError,
    ReceiptError,
    RequestRefusedError,
    StorageFailedError,
    TakenOverError,
    WriterStoppedError,
)
from receipt_writer.format.errors import SchemaError, shown

DOMAIN = "receipts.prometheus-agent"
DETAILS_KEY = "grpc-status-details-bin"

_NOTHING: Mapping[str, str] = MappingProxyType({})

CODES: Mapping[type[ReceiptError], tuple[StatusCode, str]] = {
    DraftRefusedError: (StatusCode.INVALID_ARGUMENT, "DRAFT_REFUSED"),
    RequestRefusedError: (StatusCode.INVALID_ARGUMENT, "REQUEST_REFUSED"),
    AlreadyRecordedError: (StatusCode.ALREADY_EXISTS, "ALREADY_RECORDED"),
    EntryNotFoundError: (StatusCode.NOT_FOUND, "ENTRY_NOT_FOUND"),
    NotPossibleYetError: (StatusCode.FAILED_PRECONDITION, "NOT_POSSIBLE_YET"),
    NotAllowedError: (StatusCode.PERMISSION_DENIED, "NOT_ALLOWED"),
    CredentialRefusedError: (StatusCode.UNAUTHENTICATED, "CREDENTIAL_REFUSED"),
    OutOfHandlesError: (StatusCode.UNAVAILABLE, "OUT_OF_HANDLES"),
    QueueFullError: (StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL"),
    WriterStoppedError: (StatusCode.UNAVAILABLE, "WRITER_STOPPED"),
    StorageFailedError: (StatusCode.UNAVAILABLE, "STORAGE_FAILED"),
    TakenOverError: (StatusCode.UNAVAILABLE, "TAKEN_OVER"),
    LedgerDamagedError: (StatusCode.DATA_LOSS, "LEDGER_DAMAGED"),
    LedgerBehindError: (StatusCode.DATA_LOSS, "LEDGER_BEHIND"),
}
"""The code and the reason of every error; docs/how-to/query-receipts.md says what to do about each."""


def status_code(error: ReceiptError) -> StatusCode:
    """Return the gRPC code of an error."""
    return CODES[type(error)][0]


def status_of(error: ReceiptError, about: Mapping[str, str] = _NOTHING) -> status_pb2.Status:
    """Return an error as `google.rpc.Status`: code, sentence, and what a program needs to act on it.

    The `ErrorInfo` has the reason, and as metadata what the error itself knows and `about`, for instance `field`,
    `layer` and `id`; a `RetryInfo` follows where the same request makes sense later.
    """
    code, reason = CODES[type(error)]
    facts = {**about, **_field_of(error), **error.about}
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=facts)]
    if isinstance(error, QueueFullError):
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(error.retry_after_ms)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    return status_pb2.Status(code=code.value[0], message=str(error), details=map(_packed, details))


def _field_of(error: ReceiptError) -> dict[str, str]:
    """Return which member of a draft broke the schema, where one did."""
    cause = error.__cause__
    return {"field": shown(cause.path)} if isinstance(cause, SchemaError) and cause.path else {}


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
