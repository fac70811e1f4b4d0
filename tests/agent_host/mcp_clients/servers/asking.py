"""A server of the newer era over stdio whose tools ask the client back: `book` for a form, `more` without end."""

from typing import Any

from fastmcp import FastMCP
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

server: FastMCP[Any] = FastMCP("asking")


@server.tool
async def book() -> Any:
    """Books a table."""
    form = ElicitRequestFormParams(message="Which table?", requested_schema={"type": "object", "properties": {}})
    return InputRequiredResult(input_requests={"table": ElicitRequest(params=form)}, request_state="1")


@server.tool
async def more() -> Any:
    """Never has enough."""
    return InputRequiredResult(request_state="1")


if __name__ == "__main__":
    server.run(show_banner=False)
