"""The demo server: what its tools do is only there to be called in every way a caller can."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Context, FastMCP
from pydantic import BaseModel

from service_runtime.errors import ServiceError
from service_runtime.mcp_server import client_name, new_server
from service_runtime.settings import Settings
from service_runtime.tool_arguments import OptionalFlag, OptionalLimit, OptionalText, OptionalTextList, Text


class Said(BaseModel):
    """What `demo_say` was told."""

    query: str
    client: str
    limit: int | None
    tags: list[str]
    loud: bool | None
    note: str | None


def build(settings: Settings) -> FastMCP[Any]:
    """Open a store (a file that says `open`) and define the tools; the lifespan closes it (it says `closed`)."""
    store = settings.home.folder("demo") / "store.txt"
    store.write_text("open", encoding="utf-8")
    print("a print while building is no protocol")  # noqa: T201 - that is the test

    @asynccontextmanager
    async def lifespan(_: FastMCP[Any]) -> AsyncIterator[dict[str, str]]:
        yield {}
        store.write_text("closed", encoding="utf-8")

    server = new_server("demo", "A demo.", lifespan)

    @server.tool
    async def demo_say(
        query: Text,
        ctx: Context,
        *,
        limit: OptionalLimit = None,
        tags: OptionalTextList = (),
        loud: OptionalFlag = None,
        note: OptionalText = None,
    ) -> Said:
        """Say what was told."""
        return Said(query=query, client=client_name(ctx), limit=limit, tags=list(tags), loud=loud, note=note)

    @server.tool
    async def demo_fail(how: str) -> Said:
        """Fail in one of the ways a tool can."""
        if how == "expected":
            raise ServiceError("The lamp is off; switch it on first.")
        raise RuntimeError(f"secret in {store}")

    @server.tool
    async def demo_print() -> Said:
        """Print where a careless tool would, itself and in a child that also reads."""
        print("a print in a tool is no protocol")  # noqa: T201 - that is the test
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", "print(input('child '))"], check=False)
        return Said(query="", client="", limit=None, tags=[], loud=None, note=None)

    @server.tool
    def demo_block() -> Said:
        """Block a worker thread far longer than anybody waits."""
        sys.stderr.write("blocking\n")
        sys.stderr.flush()
        time.sleep(600)
        raise RuntimeError

    _add_others(server)
    return server


def _add_others(server: FastMCP[Any]) -> None:
    @server.resource("demo://{name}")
    def demo_resource(name: str) -> str:
        if name == "expected":
            raise ServiceError("There is no such lamp; list them first.")
        raise RuntimeError("secret")

    @server.prompt
    def demo_prompt(name: str) -> str:
        if name == "expected":
            raise ServiceError("There is no such prompt; use another name.")
        raise RuntimeError("secret")
