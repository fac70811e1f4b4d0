from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc import StatusCode

from receipt_writer.errors import (
    DraftRefusedError,
    QueueFullError,
    ReceiptError,
    RequestRefusedError,
    WriterCallError,
    WriterStoppedError,
)
from receipt_writer.format.errors import EncodingError, SchemaError
from receipt_writer.status import CODES, status_code, status_of


def _kinds(base: type[ReceiptError]) -> Iterator[type[ReceiptError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


KINDS = [
    kind for kind in _kinds(ReceiptError) if kind is not WriterCallError
]  # that one is what a caller makes of these


def made(kind: type[ReceiptError]) -> ReceiptError:
    return QueueFullError("What happened.", 1) if kind is QueueFullError else kind("What happened.")


def info_of(error: ReceiptError, **about: str) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    assert status_of(error, about).details[0].Unpack(info)
    return info


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_code_and_a_reason_of_its_own(kind: type[ReceiptError]) -> None:
    error = made(kind)
    status, info = status_of(error), info_of(error)
    assert (status.code, status.message) == (status_code(error).value[0], "What happened.")
    assert info.domain == "receipts.prometheus-agent"
    assert info.reason.isupper()
    assert status_code(error) not in {StatusCode.OK, StatusCode.UNKNOWN, StatusCode.INTERNAL}


def test_no_two_kinds_share_a_reason() -> None:
    assert set(CODES) == set(KINDS)
    assert len({reason for _, reason in CODES.values()}) == len(KINDS)


def test_a_full_queue_tells_when_to_come_back() -> None:
    status = status_of(QueueFullError("Full.", 1500))
    retry = error_details_pb2.RetryInfo()
    assert status.details[1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 1500


def test_what_the_caller_named_and_what_the_error_knows_stand_in_the_metadata() -> None:
    stopped = WriterStoppedError("Leaving.")
    stopped.about = {"id": "7"}
    assert dict(info_of(stopped, layer="L12", id="1").metadata) == {"layer": "L12", "id": "7"}
    assert dict(info_of(RequestRefusedError("No.")).metadata) == {}


def caused(cause: Exception) -> DraftRefusedError:
    error = DraftRefusedError("The draft was refused.")
    error.__cause__ = cause
    return error


def test_the_field_that_broke_the_schema_is_named_and_cut_to_be_shown() -> None:
    assert dict(info_of(caused(SchemaError("tools[0].status", "ok or error"))).metadata) == {"field": "tools[0].status"}
    assert len(info_of(caused(SchemaError("x" * 5000, "left out"))).metadata["field"]) < 100
    assert dict(info_of(caused(SchemaError("", "an object"))).metadata) == {}
    assert dict(info_of(caused(EncodingError("Too long."))).metadata) == {}
