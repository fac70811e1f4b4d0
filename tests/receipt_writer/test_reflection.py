"""What a client with none of our files is told of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from grpc_reflection.v1alpha import reflection_pb2

from tests.receipt_writer.parts import Running, begin_request, running, turn_request


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder) as one:
        for number in (1, 2, 3):
            await one.stub.BeginTurn(begin_request(number))
            await one.stub.AppendTurn(turn_request(number))
        yield one


async def reflected(
    live: Running, version: str, *questions: reflection_pb2.ServerReflectionRequest
) -> list[reflection_pb2.ServerReflectionResponse]:
    call = live.channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    return [answer async for answer in call(iter(questions))]


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
