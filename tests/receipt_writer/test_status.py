from __future__ import annotations

import pytest
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc import StatusCode

from receipt_writer.errors import LedgerDamagedError, QueueFullError, ReceiptError
from receipt_writer.status import status_code, status_details

KINDS = [*ReceiptError.__subclasses__(), *LedgerDamagedError.__subclasses__()]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not QueueFullError])
def test_every_error_has_a_code_and_a_reason_of_its_own(kind: type[ReceiptError]) -> None:
    error = kind("What happened.")
    status = status_pb2.Status.FromString(status_details(error))
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (status.code, status.message) == (status_code(error).value[0], "What happened.")
    assert info.domain == "receipts.prometheus-agent"
    assert info.reason.isupper()
    assert status_code(error) not in {StatusCode.OK, StatusCode.UNKNOWN, StatusCode.INTERNAL}


def test_a_full_queue_tells_when_to_come_back() -> None:
    status = status_pb2.Status.FromString(status_details(QueueFullError("Full.", 1500)))
    retry = error_details_pb2.RetryInfo()
    assert status.details[1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 1500


def test_no_two_kinds_share_a_reason() -> None:
    reasons = set()
    for kind in KINDS:
        error = QueueFullError("x", 1) if kind is QueueFullError else kind("x")
        info = error_details_pb2.ErrorInfo()
        assert status_pb2.Status.FromString(status_details(error)).details[0].Unpack(info)
        reasons.add(info.reason)
    assert len(reasons) == len(KINDS)
