"""The demo service as its entry point describes it; the SDK is imported when the server is built."""

from typing import TYPE_CHECKING, Any

from service_runtime.errors import ServiceError
from service_runtime.mcp_server import McpService
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from fastmcp import FastMCP


def _build(settings: Settings) -> "FastMCP[Any]":
    from .server import build

    return build(settings)


def _check(settings: Settings) -> str:
    """Say how the store is; a file `broken` in the home breaks it."""
    if (settings.home.path / "broken").exists():
        raise ServiceError("The demo store is broken; delete the file 'broken'.")
    return "The demo store is well."


SERVICE = McpService("demo", "demo-mcp", _build, _check)
