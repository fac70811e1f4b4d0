from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from service_telemetry.export import is_asked_for, preloads
from tests.otlp_receiver import closed_port, over_grpc, over_http

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
WORK = """
import logging, os, sys
logging.basicConfig(format="%(message)s")
from service_telemetry.export import start
export = start({name: told for name, told in os.environ.items() if name.startswith("OTEL_")}, "worker")
from opentelemetry import trace
for _ in range(int(sys.argv[1])):
    with trace.get_tracer("test").start_as_current_span("work"):
        pass
    if export:
        export.flush_soon()
if export:
    export.close()
"""
"""A process that works, and then ends as ours do."""


def work(endpoint: str, times: int = 1, **more: str) -> subprocess.CompletedProcess[str]:
    env = {name: told for name, told in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-c", WORK, str(times)]
    return subprocess.run(command, env=env | {ENDPOINT: endpoint} | more, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("told", "is_asked"),
    [
        ({}, False),
        ({ENDPOINT: ""}, False),
        ({ENDPOINT: "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({ENDPOINT: "http://collector:4318", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({ENDPOINT: "http://collector:4318", "OTEL_SDK_DISABLED": "false"}, True),
        ({ENDPOINT: "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({ENDPOINT: "http://collector:4318", "OTEL_TRACES_EXPORTER": "console, otlp"}, True),
    ],
)
def test_an_endpoint_asks_for_spans_unless_they_are_switched_off(told: dict[str, str], is_asked: bool) -> None:
    assert is_asked_for(told) is is_asked


@pytest.mark.parametrize(
    ("told", "is_worth_it"),
    [
        ({}, False),
        ({ENDPOINT: "http://collector:4318"}, True),
        ({ENDPOINT: "http://collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False),
    ],
)
def test_a_fork_server_loads_what_its_servers_will_need_but_never_grpc(told: dict[str, str], is_worth_it: bool) -> None:
    assert bool(preloads(told)) is is_worth_it


def test_nothing_is_set_up_and_nothing_imported_without_an_endpoint() -> None:
    script = (
        "import sys; from service_telemetry.export import start; assert start({}, 'x') is None; print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert [name for name in told.split() if name.startswith(("opentelemetry", "requests", "grpc"))] == []


def test_spans_arrive_over_http_in_protobuf_with_the_headers_that_were_set() -> None:
    with over_http() as receiver:
        done = work(receiver.endpoint, OTEL_EXPORTER_OTLP_HEADERS="authorization=Basic%20cGs6c2s=")

        (span,) = receiver.spans
    assert (span.name, span.service, done.stderr) == ("work", "worker", "")
    assert receiver.headers[0]["content-type"] == "application/x-protobuf"
    assert receiver.headers[0]["authorization"] == "Basic cGs6c2s="


@pytest.mark.slow
def test_spans_arrive_over_grpc_when_that_is_chosen() -> None:
    with over_grpc() as receiver:
        done = work(receiver.endpoint, OTEL_EXPORTER_OTLP_PROTOCOL="grpc", OTEL_EXPORTER_OTLP_HEADERS="x-team=home")

        (span,) = receiver.spans
    assert (span.name, span.service, done.stderr) == ("work", "worker", "")
    assert receiver.headers[0]["x-team"] == "home"


@pytest.mark.slow
def test_the_person_may_name_the_service_and_the_resource() -> None:
    with over_http() as receiver:
        work(receiver.endpoint, OTEL_SERVICE_NAME="mine", OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=home")

        assert receiver.spans[0].service == "mine"
    assert b"deployment.environment.name" in receiver.raw[0]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_collector_that_is_not_there_is_one_warning_and_an_orderly_end(protocol: str) -> None:
    endpoint = closed_port()

    done = work(endpoint, 3, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)

    (told,) = done.stderr.splitlines()
    assert told.startswith(f"Spans cannot be sent to {endpoint.removeprefix('http://')} (")
    assert protocol == "grpc" or "(connection refused);" in told


@pytest.mark.slow
def test_a_collector_that_refuses_is_one_warning() -> None:
    with over_http(status=401) as receiver:
        done = work(receiver.endpoint, 3)

        receiver.wait_for_request()
    assert done.stderr.count("\n") == 1
    assert "401" in done.stderr


@pytest.mark.slow
def test_a_collector_that_never_answers_holds_up_no_end() -> None:
    hold = threading.Event()
    with over_http(hold=hold) as receiver:
        done = work(receiver.endpoint, 3)  # returns, though no answer has come

        receiver.wait_for_request()
        assert not hold.is_set()
    assert done.stderr.count("\n") == 1
    assert "(no answer in time)" in done.stderr


@pytest.mark.slow
def test_what_is_not_installed_is_named_and_the_work_goes_on() -> None:
    script = "import sys; sys.modules['opentelemetry.exporter'] = None\n" + WORK
    env = os.environ | {ENDPOINT: "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", script, "1"], env=env, capture_output=True, text=True, check=True)

    assert done.stderr.startswith("Spans are not exported: opentelemetry.exporter")
    assert done.stderr.endswith(" is missing; pip install 'prometheus-agent[otel]'.\n")


@pytest.mark.slow
def test_what_is_set_to_nothing_is_not_set() -> None:
    with over_http() as receiver:
        empty = dict.fromkeys(("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_TRACES_SAMPLER"), "")
        done = work(receiver.endpoint, 1, **empty)

        assert [span.name for span in receiver.spans] == ["work"]
    assert done.stderr == ""


@pytest.mark.slow
def test_a_header_that_cannot_be_read_is_told_of_without_its_value() -> None:
    with over_http() as receiver:
        done = work(receiver.endpoint, OTEL_EXPORTER_OTLP_HEADERS="hunter2;;")

        assert [span.name for span in receiver.spans] == ["work"]
    assert done.stderr.startswith("An OTEL_ variable is not used as it stands: Header format invalid!")
    assert "hunter2" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told", "words"),
    [
        ("OTEL_TRACES_SAMPLER", "sometimes", "Couldn't recognize sampler sometimes"),
        ("OTEL_RESOURCE_ATTRIBUTES", "shop", "Invalid key value resource attribute pair shop"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip", "Unsupported compression type"),
    ],
)
def test_a_variable_that_any_part_of_the_sdk_passes_over_is_told_of(name: str, told: str, words: str) -> None:
    with over_http() as receiver:
        done = work(receiver.endpoint, 1, **{name: told})

        assert [span.name for span in receiver.spans] == ["work"]
    assert done.stderr == f"An OTEL_ variable is not used as it stands: {words}.\n"


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ["127.0.0.1:4318", "localhost", "grpc://127.0.0.1:4317"])
def test_an_endpoint_without_its_scheme_is_told_of_in_words_that_help(endpoint: str) -> None:
    done = work(endpoint)

    assert done.stderr == (
        "Spans are not exported: OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://; correct the OTEL_ "
        "variables.\n"
    )


@pytest.mark.slow
def test_a_protocol_that_there_is_not_is_named() -> None:
    done = work("http://127.0.0.1:9", OTEL_EXPORTER_OTLP_PROTOCOL="http/json")

    assert done.stderr == (
        "Spans are not exported: OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or grpc; correct the OTEL_ "
        "variables.\n"
    )
