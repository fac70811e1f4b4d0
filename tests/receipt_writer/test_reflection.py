"""Clients with none of our code: the programs printed in docs/how-to/query-receipts.md, run as they stand there."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from grpc_reflection.v1alpha import reflection_pb2

from tests.receipt_writer.parts import Running, begin_request, running, turn_request, verified

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "query-receipts.md"
NODE_MODULES = ROOT / "tests" / "node" / "node_modules"


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        for number in (1, 2, 3):
            await one.stub.BeginTurn(begin_request(number))
            await one.stub.AppendTurn(turn_request(number))
        yield one


def program(language: str, folder: Path) -> Path:
    """Save the page's program in this language and return its path."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    path = folder / f"receipts.{language}"
    path.write_text(text)
    return path


async def output(*command: str, environment: dict[str, str] | None = None) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        env=os.environ | (environment or {}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


async def reflected(
    live: Running, version: str, *questions: reflection_pb2.ServerReflectionRequest
) -> list[reflection_pb2.ServerReflectionResponse]:
    call = live.channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    return [answer async for answer in call(iter(questions))]


def newest_first(folder: Path) -> list[str]:
    return [f"{entry.id} {entry.line.decode()}" for entry in reversed(verified(folder, "L10"))]


async def test_the_python_program_of_the_page_lists_receipts(live: Running, folder: Path, tmp_path: Path) -> None:
    saved = program("python", tmp_path)
    check = f"\nassert not [name for name in sys.modules if name.startswith({('prometheus', 'receipt_writer')!r})]\n"
    saved.write_text(saved.read_text() + check)
    printed = await output(sys.executable, str(saved), live.target)
    assert printed.splitlines() == newest_first(folder)


async def test_the_node_program_of_the_page_lists_receipts(live: Running, folder: Path, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (NODE_MODULES / "grpc-js-reflection-client").is_dir():
        pytest.skip("node or the packages of tests/node are not installed; `make unit` installs them where npm is")
    saved = program("js", tmp_path)
    printed = await output(node, str(saved), live.target, environment={"NODE_PATH": str(NODE_MODULES)})
    assert printed.splitlines() == newest_first(folder)


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_both_names_of_the_reflection_service_answer(live: Running, version: str) -> None:
    answers = await reflected(live, version, reflection_pb2.ServerReflectionRequest(list_services=""))
    names = [service.name for answer in answers for service in answer.list_services_response.service]
    assert "prometheus.receipts.v1.ReceiptWriter" in names
    assert "grpc.health.v1.Health" in names


async def test_every_listed_service_can_be_described(live: Running) -> None:
    listed = await reflected(live, "v1alpha", reflection_pb2.ServerReflectionRequest(list_services=""))
    names = [service.name for answer in listed for service in answer.list_services_response.service]
    questions = [reflection_pb2.ServerReflectionRequest(file_containing_symbol=name) for name in names]
    answers = await reflected(live, "v1alpha", *questions)
    assert [answer.WhichOneof("message_response") for answer in answers] == ["file_descriptor_response"] * len(names)
