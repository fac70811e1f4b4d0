"""Errors as gRPC tells them: a status code, and `google.rpc.ErrorInfo` in `grpc-status-details-bin`."""

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
    NotPossibleYetError,
    OutOfHandlesError,
    QueueFullError,
    ReceiptError,
    RequestRefusedError,
    StorageFailedError,
    WriterStoppedError,
)

DOMAIN = "receipts.prometheus-agent"
DETAILS_KEY = "grpc-status-details-bin"

_CODES = {
    DraftRefusedError: (StatusCode.INVALID_ARGUMENT, "DRAFT_REFUSED"),
    RequestRefusedError: (StatusCode.INVALID_ARGUMENT, "REQUEST_REFUSED"),
    AlreadyRecordedError: (StatusCode.ALREADY_EXISTS, "ALREADY_RECORDED"),
    EntryNotFoundError: (StatusCode.NOT_FOUND, "ENTRY_NOT_FOUND"),
    NotPossibleYetError: (StatusCode.FAILED_PRECONDITION, "NOT_POSSIBLE_YET"),
    CredentialRefusedError: (StatusCode.UNAUTHENTICATED, "CREDENTIAL_REFUSED"),
    OutOfHandlesError: (StatusCode.UNAVAILABLE, "OUT_OF_HANDLES"),
    QueueFullError: (StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL"),
    WriterStoppedError: (StatusCode.UNAVAILABLE, "WRITER_STOPPED"),
    StorageFailedError: (StatusCode.UNAVAILABLE, "STORAGE_FAILED"),
    LedgerDamagedError: (StatusCode.DATA_LOSS, "LEDGER_DAMAGED"),
    LedgerBehindError: (StatusCode.DATA_LOSS, "LEDGER_BEHIND"),
}


def status_code(error: ReceiptError) -> StatusCode:
    """Return the gRPC code of an error."""
    return _CODES[type(error)][0]


def status_details(error: ReceiptError) -> bytes:
    """Return the serialised `google.rpc.Status`: the reason, and when to try again if that makes sense."""
    code, reason = _CODES[type(error)]
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN)]
    if isinstance(error, QueueFullError):
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(error.retry_after_ms)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    number: int = code.value[0]
    status: Message = status_pb2.Status(code=number, message=str(error), details=map(_packed, details))
    return status.SerializeToString()


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
