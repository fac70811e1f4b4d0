"""The reader as a process of its own: it answers like the code inside it, and ends when its time is over."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools_mcp.search.pdfs import pdf
from tests.tools_mcp.search.test_reading import ARTICLE, html
from tools_mcp.search import reader
from tools_mcp.search.reader import TOO_LONG, UNREADABLE, ReaderProcess
from tools_mcp.search.reading import Raw, read

MANY = "<html><body>" + "<p>Some words of a paragraph that goes on for a while.</p>" * 60_000 + "</body></html>"


@pytest.mark.parametrize(
    "raw", [html(ARTICLE), Raw("pdf", pdf("page")), Raw("text", "Größe".encode("latin-1"), "latin-1")]
)
async def test_the_process_answers_like_the_code_inside_it(raw: Raw) -> None:
    assert await ReaderProcess().read(raw, 20) == read(raw)


async def test_a_page_whose_main_text_takes_too_long_to_find_gives_all_of_its_text() -> None:
    found = await ReaderProcess(main_text_s=1.0).read(html(MANY), 15)

    assert found.problem == ""
    assert found.text.startswith("Some words of a paragraph")


async def test_a_page_that_takes_too_long_ends_its_process() -> None:
    before = children()
    found = await ReaderProcess().read(Raw("text", b"x" * 5_000_000), 0.01)

    assert found == TOO_LONG
    assert children() <= before
    assert await ReaderProcess().read(Raw("text", b"x"), 0) == TOO_LONG


async def test_a_process_that_dies_is_a_page_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "__name__", "no_such_module")

    assert await ReaderProcess().read(Raw("text", b"x"), 20) == UNREADABLE


async def test_a_cancelled_read_leaves_no_process() -> None:
    before = children()
    task = asyncio.ensure_future(ReaderProcess().read(html(MANY), 20))
    while not (begun := children() - before):  # noqa: ASYNC110 - a process tells nobody that it has begun
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert children() & begun == set()


def test_the_process_knows_no_setting_and_may_write_no_file(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from tools_mcp.search import reader; reader._bound()\n"
        f"try:\n    Path({str(tmp_path / 'file')!r}).write_text('x')\nexcept OSError as error: print(error.strerror)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)

    assert (done.stdout.strip(), done.stderr) == ("File too large", "")
    assert not any(name.startswith("PROMETHEUS") or "KEY" in name for name in reader._PASSED_ON)


def children() -> set[str]:
    """The processes that this one has begun, as numbers; a thread that ends meanwhile has handed its own on."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            found |= set((task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
