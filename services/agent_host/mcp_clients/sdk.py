"""The MCP SDK behind plain functions. Importing this module imports the SDK (1-2 s of CPU): only `link` does."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client._input_required import InputRequiredRoundsExceededError
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    CallToolResult,
    Implementation,
    Tool,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from agent_host.mcp_clients import http_answers, transports
from agent_host.mcp_clients.config import ServerConfig
from agent_host.mcp_clients.remote import Failure, RemoteResult, RemoteTool, one_line, read_result
from agent_host.providers.protocol import JsonValue

if TYPE_CHECKING:
    from agent_host.mcp_clients.link import LinkOptions

CLIENT_NAME: Final = "prometheus-agent"
# What entering, keeping or leaving a client can end in.
FAILURES: Final = (
    OSError,
    RuntimeError,
    ValueError,
    MCPError,
    httpx2.HTTPError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    ExceptionGroup,
)
CancelScope = anyio.CancelScope

_SDK_CLOSED_WORDS: Final = ("Connection closed", "SSE stream ")
_SDK_ASKED_WORDS: Final = ("Elicitation not supported", "Sampling not supported", "List roots not supported")
_ASKS_BACK: Final = "it asks this host for more (a form, a model's answer or folders), which this host does not give"
_SDK_UNREAD_WORDS: Final = "Failed to parse "
_SDK_REDIRECT_WORDS: Final = re.compile(r"Redirect to (\S{1,300}) not followed")
_WRITE_MARGIN_S: Final = 5.0
_PAGES: Final = 100
_LIST_AGAIN_S: Final = 10.0


def open_client(
    config: ServerConfig, options: LinkOptions, ended: Callable[[], None], relisted: Callable[[], None]
) -> AbstractAsyncContextManager[Client]:
    """Returns a client to be entered and left in one task; either protocol era is taken as the server offers it.

    `ended` is called when a stdio server's output ends, `relisted` when the server says, unasked, that its tools are
    others now.
    """

    async def told(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            relisted()

    info = Implementation(name=CLIENT_NAME, version=options.version)
    if config.command is not None:
        transport = transports.stdio(config, config.command, options.log, ended)
    else:
        transport = transports.http(config.url or "", config, options.logins)
    return Client(transport, client_info=info, cache=None, message_handler=told)


async def list_tools(client: Client) -> tuple[RemoteTool, ...]:
    """Returns the server's tools, all pages of them; none of a server that knows no tools at all.

    Raises:
        MCPError: the server refused, or its list has more than 100 pages.
    """
    tools: list[RemoteTool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        try:
            page = await client.list_tools(cursor=cursor)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return ()
            raise
        tools += [_remote_tool(tool) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return tuple(tools)
    raise MCPError(INVALID_REQUEST, f"its list of tools has more than {_PAGES} pages")


async def list_again(client: Client) -> tuple[RemoteTool, ...] | None:
    """Returns the server's tools as it lists them now, None when it does not within a few seconds."""
    with anyio.move_on_after(_LIST_AGAIN_S):
        try:
            return await list_tools(client)
        except MCPError as error:
            logging.getLogger("mcp").warning("the tools cannot be listed again: %s", one_line(error.message))
    return None


async def call_tool(
    client: Client, tool: str, arguments: Mapping[str, JsonValue], meta: Mapping[str, str], timeout_s: float
) -> RemoteResult | Failure:
    """Calls a tool. Cancelling, and running out of time, send the protocol's cancellation to the server."""
    clock = anyio.current_time
    started = clock()
    try:
        with anyio.fail_after(timeout_s + _WRITE_MARGIN_S):  # the SDK's own clock starts once the request is written
            result = await client.call_tool(
                tool,
                dict(arguments),
                read_timeout_seconds=timeout_s,
                meta=dict(meta),  # type: ignore[arg-type]
            )
    except TimeoutError:
        return Failure("late", "no answer in time")
    except InputRequiredRoundsExceededError:
        return Failure("refused", _ASKS_BACK)
    except MCPError as error:
        return _failed_call(error, late=clock() - started >= timeout_s)
    except (RuntimeError, ValueError):
        logging.getLogger("mcp").warning("the answer to %s cannot be read", tool, exc_info=True)
        return Failure("unreadable", "it is no result of a tool")
    return _remote_result(result)


def why_not_connected(error: BaseException, config: ServerConfig, log: TextIO) -> str:
    """Returns, as the rest of a sentence, why a server could not be connected and what to do."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and config.cwd is not None and not Path(config.cwd).is_dir():
        return f"its folder {config.cwd!r} is not there; correct `cwd` in mcp.json"
    if isinstance(error, OSError) and config.command is not None:
        return f"its command {config.command!r} cannot be run ({error.strerror}); correct `command` in mcp.json"
    if isinstance(error, MCPError):
        return _why_refused(error, config, log)
    if isinstance(error, httpx2.HTTPError):
        return f"nothing answers at {config.address}; start it, or correct `url` in mcp.json"
    if isinstance(error, ValidationError):
        return "it does not speak MCP as expected (an answer has the wrong form)"
    return f"it does not speak MCP as expected ({one_line(str(error))[:200]})"


def _remote_tool(tool: Tool) -> RemoteTool:
    hints = tool.annotations
    read_only = bool(hints and hints.read_only_hint)
    destructive = bool(hints and hints.destructive_hint and not read_only)
    return RemoteTool(tool.name, tool.description or tool.title or "", tool.input_schema, read_only, destructive)


def _remote_result(result: CallToolResult) -> RemoteResult:
    content = [block.model_dump(mode="json", by_alias=True) for block in result.content]
    return read_result(content, result.structured_content, is_error=result.is_error)


def _failed_call(error: MCPError, *, late: bool) -> Failure:
    match http_answers.own_code(error):
        case http_answers.NOT_SENT | http_answers.SESSION_LOST | http_answers.UNAUTHORIZED | http_answers.LOGIN_TROUBLE:
            return Failure("not_sent", error.message)
        case http_answers.BROKEN:
            return Failure("unclear", error.message)
        case http_answers.TOO_LONG:
            return Failure("unreadable", error.message)
        case _:
            return _servers_failure(error, late=late)


def _servers_failure(error: MCPError, *, late: bool) -> Failure:
    if error.code == CONNECTION_CLOSED and error.message.startswith(_SDK_CLOSED_WORDS):
        return Failure("unclear", "the connection broke")
    if error.code == PARSE_ERROR and error.message.startswith(_SDK_UNREAD_WORDS):
        return Failure("unclear", "its answer is no MCP")
    if error.code == REQUEST_TIMEOUT and late:
        return Failure("late", error.message)
    if error.code == INVALID_REQUEST and error.message in _SDK_ASKED_WORDS:
        return Failure("refused", _ASKS_BACK)
    if (elsewhere := _redirected(error)) is not None:
        return Failure("refused", elsewhere)
    return Failure("refused", one_line(error.message))


def _why_refused(error: MCPError, config: ServerConfig, log: TextIO) -> str:
    match http_answers.own_code(error):
        case http_answers.UNAUTHORIZED | http_answers.FORBIDDEN | http_answers.TOO_LONG:
            return error.message
        case http_answers.LOGIN_TROUBLE:
            return f"{error.message}; try again later"
        case http_answers.NOT_SENT:
            return f"nothing answers at {config.address}; start it, or correct `url` in mcp.json"
        case http_answers.BROKEN:
            return f"there is trouble at {config.address}, {error.message}; look into its log"
        case http_answers.REFUSED:
            return f"{error.message}; check `url` in mcp.json ({config.address})"
        case _:
            ended = f"it ended before it listed its tools; what it said is in {log.name}"
            closed = ended if error.code == CONNECTION_CLOSED else None
            return closed or _redirected(error) or f"it refused the connection ({one_line(error.message)[:200]})"


def _redirected(error: MCPError) -> str | None:
    """Returns where a server sends us that the SDK does not follow: another server, or one without TLS."""
    found = _SDK_REDIRECT_WORDS.match(error.message)
    if found is None:
        return None
    return f"it redirects to {found[1]}, where nothing was sent; give that as `url` in mcp.json if it is meant"
