"""Search takes words as the memory server does: the same table, asked of both through their tools."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from fastmcp import Client

from memory_mcp.app import build
from tests.tools_mcp.running import call, here, settings

pytestmark = pytest.mark.asyncio(loop_scope="module")
Both = tuple[Client[Any], Client[Any]]

FOUND = {
    "ticket POL-358 is open": ("POL-358", "pol-358", "358"),
    "a multi-agent system": ("multi-agent", "agent"),
    "we don't know him": ("don't know him", "dont know him"),
    "Anna\u2019s garden is green": ("Anna's garden", "garden of Anna"),
    'call it with "--error-on-warnings" please': ('"--error-on-warnings"', "error-on-warnings"),
    "spec 38.101 says so": ("38.101",),
    "Grade 4: Week 1 Update": ("Grade 4 Week 1",),
    "用户身份已确认": ("用户", "已确认"),
    "サンドボックス修正テスト": ("サンドボックス",),
    "카드 결제 오류": ("결제",),
    "db の接続が切れた": ("db",),
    "สวัสดีชาวโลก": ("ชาวโลก",),
    "Müller met Łukasz in Köln": ("muller", "MÜLLER", "koln"),
    "the quarterly meetings of sales": ("meeting", "quarterly meeting"),
    "Привет мир": ("привет",),
    "it costs 1,000 euros": ("1000 euros",),
    "they live in the Straße": ("strasse",),
    "R and Go are languages": ("go",),
}
NOT_FOUND = ("capital of France", "*", '"', "NEAR(", "zebra", "户用", "🎉", "--")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Both]:
    """The notes and the memory server, both holding every text of the table."""
    home = tmp_path_factory.mktemp("home")
    async with here("notes", home) as notes, Client(build(settings(home))) as memory:
        for number, text in enumerate(FOUND):
            await call(notes, "notes_write", title=f"n{number}", body=text)
            await call(memory, "memory_remember", body=text)
        yield notes, memory


async def found(both: Both, query: str) -> tuple[set[str], set[str]]:
    """The texts that each server finds."""
    notes = (await call(both[0], "notes_search", query=query, limit=50))["notes"]
    entries = (await call(both[1], "memory_search", query=query, limit=50))["entries"]
    told = list(FOUND)
    return (
        {told[int(note["id"][1:])] for note in notes},
        {entry["snippet"].replace("<<", "").replace(">>", "") for entry in entries},
    )


@pytest.mark.parametrize(("text", "query"), [(text, query) for text, queries in FOUND.items() for query in queries])
async def test_both_find_it(both: Both, text: str, query: str) -> None:
    in_notes, in_memory = await found(both, query)

    assert text in in_notes
    assert text in in_memory


@pytest.mark.parametrize("query", NOT_FOUND)
async def test_both_find_nothing(both: Both, query: str) -> None:
    assert await found(both, query) == (set(), set())
