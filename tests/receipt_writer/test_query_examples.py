"""The programs printed in docs/how-to/query-receipts.md, run as they stand there against a real writer."""

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

from receipt_writer.listen import TcpAddress
from receipt_writer.status import CODES
from tests.receipt_writer.parts import Running, begin_request, free_port, running, turn_request, verified

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "query-receipts.md").read_text()
NODE_MODULES = ROOT / "tests" / "node" / "node_modules"
DESCRIPTION = ROOT / "protos" / "gen" / "prometheus" / "receipts" / "v1" / "receipts.binpb"
MOST_LINES = 14


@pytest_asyncio.fixture
async def live(folder: Path) -> AsyncIterator[Running]:
    async with running(folder, address=TcpAddress("127.0.0.1", free_port())) as one:
        for number in range(1, 8):
            await one.stub.BeginTurn(begin_request(number))
            await one.stub.AppendTurn(turn_request(number))
        yield one


def program(section: str, language: str) -> str:
    """Return the program in this language from a section of the page."""
    (text,) = re.findall(rf"^## {section}\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(code)


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


def five_newest(folder: Path) -> list[str]:
    return [f"{entry.id} {entry.line.decode()}" for entry in reversed(verified(folder, "L10"))][:5]


@pytest.mark.parametrize(("section", "imports"), [("Through reflection", False), ("With Python", True)])
async def test_a_python_program_of_the_page_lists_receipts(
    live: Running, folder: Path, tmp_path: Path, section: str, imports: bool
) -> None:
    saved = tmp_path / "receipts.py"
    ours = "[name for name in sys.modules if name.startswith(('prometheus', 'receipt_writer'))]"
    saved.write_text(program(section, "python") + f"\nassert bool({ours}) is {imports}\n")
    printed = await output(sys.executable, str(saved), live.target)
    assert printed.splitlines() == five_newest(folder)


async def test_the_node_program_of_the_page_lists_receipts(live: Running, folder: Path, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (NODE_MODULES / "@grpc" / "proto-loader").is_dir():
        pytest.skip("node or the packages of tests/node are not installed; `make unit` installs them where npm is")
    saved = tmp_path / "receipts.js"
    saved.write_text(program("With Node", "js"))
    environment = {"NODE_PATH": str(NODE_MODULES)}
    printed = await output(node, str(saved), live.target, str(DESCRIPTION), environment=environment)
    assert printed.splitlines() == five_newest(folder)


async def test_the_grpcurl_commands_of_the_page_list_and_describe(live: Running, folder: Path) -> None:
    if shutil.which("grpcurl") is None:
        pytest.skip("grpcurl is not installed; the program of the same section goes the same way without it")
    commands = program("Through reflection", "sh").replace("127.0.0.1:7443", live.target)
    printed = await output("sh", "-ec", commands)
    assert "rpc AppendStream (" in printed
    assert f'"hash": "{verified(folder, "L10")[-1].hash}"' in printed


@pytest.mark.parametrize(
    ("section", "language"), [("Through reflection", "python"), ("With Python", "python"), ("With Node", "js")]
)
def test_the_programs_of_the_page_are_about_ten_lines(section: str, language: str) -> None:
    lines = [line for line in program(section, language).splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES


def test_the_page_and_the_proto_name_every_reason() -> None:
    proto = (ROOT / "protos" / "prometheus" / "receipts" / "v1" / "receipts.proto").read_text()
    for code, reason in CODES.values():
        assert re.search(rf"^\| `{code.name}` \|.*`{reason}`", PAGE, re.MULTILINE), reason
        assert reason in proto
