"""Composition root of the host: with `answering` the only module that names concrete providers, stores and servers.

`Host` is cheap to make: it loads no SDK, so that the first prompt does not wait. Everything else is made in the
background, or at the latest by the first turn.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from agent_host.answering import open_provider
from agent_host.budget import Budget, limits, unpriced
from agent_host.chat_log import ChatLog, Found, SessionSummary
from agent_host.children import Child, socket_path
from agent_host.environments import child_environment, tool_environment
from agent_host.errors import UsageError, WriterUnavailableError
from agent_host.home_lock import HomeLock
from agent_host.identifiers import new_session_id
from agent_host.interrupted import completed
from agent_host.mcp_clients.approval import NobodyToAsk
from agent_host.mcp_clients.config import merged, read_servers
from agent_host.memory_settings import memory_settings
from agent_host.session import Session
from agent_host.settings import HostSettings, host_settings, require_key, writer_token
from agent_host.soul import read_soul
from agent_host.tracing.events import Emit
from agent_host.tracing.spans import open_spans
from agent_host.usage import UsageFile
from service_runtime import logs
from service_runtime.settings import Settings
from service_telemetry.export import preloads

if TYPE_CHECKING:
    from agent_host.constrained.options import CallOptions
    from agent_host.constrained.store import CallStore
    from agent_host.mcp_clients.approval import Approver
    from agent_host.mcp_clients.guard import Guard
    from agent_host.mcp_clients.ledger import ManifestLedger
    from agent_host.mcp_clients.protocol import ToolBox
    from agent_host.mcp_clients.server_config import ServerConfig
    from agent_host.memory_overview import MemoryOverview
    from agent_host.providers.protocol import Identity
    from agent_host.receipts.openings import OpeningStore
    from agent_host.receipts.protocol import LedgerReader
    from agent_host.skills.loading import SkillFolder
    from agent_host.turn import TurnResult
    from agent_host.turn_parts import TurnParts
    from agent_host.writer_link import WriterLink

PRELOADED = (
    "anyio._backends._asyncio",
    "fastmcp.server.context",
    "fastmcp.server.middleware.dereference",
    "fastmcp.server.providers.prefab_synthesis",
    "fastmcp.server.server",
    "fastmcp.server.sessions",
    "fastmcp.server.transforms.catalog",
    "griffe",
    "jsonref",
    "key_value.aio.adapters.pydantic",
    "key_value.aio.stores.memory",
    "mcp.server.stdio",
    "service_runtime.mcp_errors",
    "service_runtime.tool_arguments",
    "tzlocal",
)
"""What the fork server imports once for every built-in server: measured, what each would import by itself."""


class Host:
    """One running agent host on one home folder."""

    def __init__(
        self, settings: Settings, gateway: str, environ: Mapping[str, str], approver: Approver | None = None
    ) -> None:
        """Takes the home. `approver` is asked about what tools may do; without one nobody can be asked.

        Raises:
            HomeInUseError, ConfigurationError, SetupError: the host cannot run here; the message says what to change.
        """
        self.host_settings = host_settings(settings)
        require_key(self.host_settings)
        settings.zone()
        logs.configure(settings.get("LOG_LEVEL"))
        folder = settings.home.folder("host")
        read_servers(self.host_settings.mcp_config, environ)  # a mistake shows now, not in the middle of a conversation
        self._settings = settings
        self._environ = environ
        self._gateway = gateway
        self._approver = approver or NobodyToAsk()
        self._limits = limits(settings)
        self._memory_settings = memory_settings(settings, self.host_settings.provider)
        self._session = Session(new_session_id(), self.host_settings.history_turns)
        self._resources = AsyncExitStack()
        lock = HomeLock(folder / "lock", settings.home.path)
        self._resources.callback(lock.release)
        try:
            self._chat_log = completed(ChatLog(folder / "sessions.db"), folder / "traces", settings.zone())
        except BaseException:
            lock.release()
            raise
        self._resources.callback(self._chat_log.close)
        self._parts: asyncio.Future[TurnParts] | None = None
        self._link: WriterLink | None = None

    @property
    def session_id(self) -> str:
        """The session that is talked in."""
        return self._session.session_id

    def start(self) -> asyncio.Future[TurnParts]:
        """Begins, once, to start servers and to load what a turn needs; does not wait for any of it."""
        if self._parts is None or _has_failed(self._parts):
            self._parts = asyncio.ensure_future(self._assemble())
        return self._parts

    async def turn(self, text: str, watch: Emit) -> TurnResult:
        """Runs one turn of this host's conversation; cancelling it ends it early.

        Raises:
            HostError, SetupError: a part the turn needs cannot be made.
            OSError: the disk refused a write.
        """
        parts = await asyncio.shield(self.start())
        from agent_host.turn import run_turn

        with parts.spans.turn():
            return await run_turn(text, self._session, self._gateway, parts, watch)

    def sessions(self, limit: int) -> list[SessionSummary]:
        """Returns this home's sessions, the one talked in last first."""
        return self._chat_log.sessions(limit)

    def search(self, words: str, limit: int) -> list[Found]:
        """Returns what was said on this home with every one of the words in it, newest first."""
        return self._chat_log.search(words, limit)

    def said(self, session_id: str) -> list[tuple[str, str]]:
        """Returns (role, content) of a session, oldest first."""
        return self._chat_log.rows(session_id)

    def resume(self, session_id: str) -> None:
        """Goes on with an earlier session: its last turns are in the next prompt.

        Raises:
            UsageError: there is no such session.
        """
        turns = self.host_settings.history_turns
        rows = self._chat_log.tail(session_id, turns)
        if not rows:
            raise UsageError(f"There is no session {session_id[:40]!r}; `agent-host sessions list` shows them.")
        self._session = Session.resumed(session_id, turns, rows)

    async def memory(self) -> MemoryOverview:
        """Returns what was remembered last, and how much waits to be consolidated."""
        parts = await asyncio.shield(self.start())
        from agent_host.memory_overview import memory_overview

        return await memory_overview(parts.tools, self._chat_log.open_rows())

    async def tools(self) -> tuple[tuple[str, str], ...]:
        """Returns the tools that can be used now, each with the first line of what it says of itself."""
        parts = await asyncio.shield(self.start())
        return tuple((spec.name, (spec.description.splitlines() or [""])[0]) for spec in await parts.tools.specs())

    async def model(self) -> Identity:
        """Returns who answers."""
        return (await asyncio.shield(self.start())).provider.identity

    async def use_model(self, name: str) -> Identity:
        """Has another model of the same provider answer from the next turn on, in this conversation alone.

        Raises:
            UsageError: the provider has no other.
            ConfigurationError: the name cannot be one.
        """
        if self.host_settings.provider == "offline":
            raise UsageError("The offline rules are no model, so none can take their place; set PROMETHEUS_PROVIDER.")
        parts = await asyncio.shield(self.start())
        from agent_host.turn_parts import answered_by

        told = replace(self.host_settings, model=name)
        require_key(told)
        provider, cost = await asyncio.to_thread(open_provider, self._settings, told)
        self._resources.push_async_callback(provider.close)
        self._parts = asyncio.get_running_loop().create_future()
        self._parts.set_result(answered_by(parts, provider, cost, told.llm_deadline_s * 1000))
        return provider.identity

    async def ledger(self) -> LedgerReader:
        """Returns the ledger of this home.

        Raises:
            WriterUnavailableError: its writer does not answer.
        """
        await asyncio.shield(self.start())
        if self._link is None:
            raise WriterUnavailableError("The receipt writer was not started; say something first.")
        await self._link.connect()
        return self._link.client

    async def close(self) -> None:
        """Ends every process this host started and lets the home go."""
        if self._parts is not None:
            self._parts.cancel()
            await asyncio.wait({self._parts})
            _has_failed(self._parts)
        await self._resources.aclose()

    async def _assemble(self) -> TurnParts:
        """Makes what turns work with; the heavy imports run in a thread, beside the prompt."""
        settings, told = self._settings, self.host_settings
        spans = await asyncio.to_thread(open_spans, settings.values, self._resources)
        spans.leave_out()  # servers that start are no part of a turn
        await asyncio.to_thread(importlib.import_module, "agent_host.writer_link")
        link = open_writer(settings, self._environ, self._resources, is_traced=spans.is_recording)
        link.start()
        self._link = link
        from agent_host.mcp_clients.home_rules import home_guard

        guard = home_guard(settings.home.folder("host"), self._approver)
        tools = open_tools(settings, self._environ, self._resources, guard=guard, link=link)
        provider, cost = await asyncio.to_thread(open_provider, settings, told)
        self._resources.push_async_callback(provider.close)

        from agent_host.charges import ChargedTools
        from agent_host.constrained.options import CallOptions
        from agent_host.constrained.retrying import Patience
        from agent_host.constrained.specs import reply_drafter
        from agent_host.memory_parts import nothing_after, open_consolidator, open_small_calls, retrieval_of
        from agent_host.receipts.log import ReceiptLog
        from agent_host.receipts.openings import OpeningStore
        from agent_host.receipts.spool import Spool
        from agent_host.turn_parts import TurnParts

        folder = settings.home.folder("host")
        traces = settings.home.folder("host/traces")
        openings = OpeningStore(folder / "openings.db")
        self._resources.callback(openings.close)
        usage = open_usage(settings)
        tools = ChargedTools(tools, usage.charge)
        receipts = ReceiptLog(link.client, Spool(folder / "spool.jsonl"), openings, link.ensure)
        zone = settings.zone()
        small, small_cost = provider, cost
        if told.small_model != told.model:
            small, small_cost = open_provider(settings, replace(told, model=told.small_model))
            self._resources.push_async_callback(small.close)
        budget = Budget(self._limits, usage.spent_today_micro_usd, unpriced(provider.identity, small.identity))
        asked = CallOptions(ledger=receipts, provider=small, cost=small_cost, meter=usage.add, may_ask=budget.check_day)
        calls = open_small_calls(folder, asked, self._resources)
        consolidating = None
        if told.provider != "offline":  # rules are no model: the rows stay open until one reads them
            remembered = self._memory_settings
            consolidating = open_consolidator(
                folder, calls, tools, self._resources, told=remembered, zone=zone, spans=spans
            )
        return TurnParts(
            provider=provider,
            spec=reply_drafter(provider.identity, told.llm_deadline_s * 1000),
            tools=tools,
            receipts=receipts,
            chat_log=self._chat_log,
            traces=traces,
            soul=lambda: read_soul(settings.home.path / "SOUL.md"),
            now=lambda: datetime.now(zone),
            zone_name=zone.key,
            cost=cost,
            max_iterations=told.max_iterations,
            max_tokens=told.max_tokens,
            retrieval=retrieval_of(self._memory_settings, calls),
            after_turn=consolidating.after_turn if consolidating else nothing_after,
            budget=budget,
            meter=usage.add,
            registry=calls.registry,
            spans=spans,
            patience=Patience(calls.breakers),
            skills=skill_folder(settings),
            shows_outside=guard.shown_others_words,
        )


def skill_folder(settings: Settings) -> SkillFolder:
    """Returns the skills of a home: the shipped ones, and the person's own in front of them."""
    from agent_host.skills.loading import SHIPPED, SkillFolder

    return SkillFolder((SHIPPED, settings.home.path / "skills"))


def _has_failed(parts: asyncio.Future[TurnParts]) -> bool:
    """Tells whether the parts could not be made, so that the next turn tries again."""
    return parts.done() and (parts.cancelled() or parts.exception() is not None)


@dataclass(frozen=True)
class CallDesk:
    """What constrained calls of a home are made, reviewed and looked up with."""

    link: WriterLink
    openings: OpeningStore
    store: CallStore


def open_desk(settings: Settings, environ: Mapping[str, str], resources: AsyncExitStack) -> CallDesk:
    """Opens what is kept of a home's calls, and the way to its writer; starts none. `resources` closes them.

    Raises:
        ConfigurationError: a file or a setting cannot be used.
    """
    from agent_host.constrained.store import CallStore
    from agent_host.receipts.openings import OpeningStore

    folder = settings.home.folder("host")
    desk = CallDesk(
        open_writer(settings, environ, resources), OpeningStore(folder / "openings.db"), CallStore(folder / "calls.db")
    )
    resources.callback(desk.openings.close)
    resources.callback(desk.store.close)
    return desk


def open_calls(settings: Settings, desk: CallDesk, resources: AsyncExitStack) -> CallOptions:
    """Returns what `run_constrained_ai` needs on this home; takes the home, or works beside the host that holds it.

    Raises:
        ConfigurationError, SetupError: calls cannot be made here; the message says what to change.
    """
    from agent_host.call_parts import open_ledger
    from agent_host.constrained.options import CallOptions
    from agent_host.constrained.registering import SpecLog

    told = host_settings(settings)
    require_key(told)
    ledger = open_ledger(settings, desk, resources)
    provider, cost = open_provider(settings, told)
    resources.push_async_callback(provider.close)
    usage = open_usage(settings)
    return CallOptions(
        ledger=ledger,
        provider=provider,
        store=desk.store,
        registry=SpecLog(ledger, desk.store.keep_spec),
        cost=cost,
        meter=usage.add,
        may_ask=Budget(limits(settings), usage.spent_today_micro_usd).check_day,
    )


def open_usage(settings: Settings) -> UsageFile:
    """Returns the usage ledger of a home; `now` in the person's zone is what its days go by."""
    zone = settings.zone()
    return UsageFile(settings.home.path / "host" / "usage.jsonl", lambda: datetime.now(zone))


def first_screen(told: HostSettings) -> str:
    """Returns what a conversation opens with: who answers, and how to leave."""
    if told.provider == "offline":
        from agent_host.providers.offline import FIRST_SCREEN

        return f"{FIRST_SCREEN}\nType /help for help, /quit to leave."
    return f"You talk with {told.model} by {told.answered_by}.\nType /help for help, /quit to leave."


def open_writer(
    settings: Settings, environ: Mapping[str, str], resources: AsyncExitStack, *, is_traced: bool = False
) -> WriterLink:
    """Makes the link to this home's writer, or to the one the settings name; starts none. `resources` closes it.

    Raises:
        ConfigurationError: the token or the certificates for a writer that runs elsewhere cannot be used.
    """
    from agent_host.receipts.client import WriterAccess
    from agent_host.writer_link import WriterLink

    told = host_settings(settings)
    elsewhere = WriterAccess(told.writer, writer_token(settings), told.writer_ca) if told.writer else None
    folder = settings.home.path / "receipts" if elsewhere else settings.home.folder("receipts")
    link = WriterLink(
        folder,
        log_folder(settings) / "receipt-writer.log",
        child_environment(environ, settings),
        elsewhere,
        is_traced=is_traced,
    )
    resources.push_async_callback(link.close)
    return link


def open_tools(
    settings: Settings,
    environ: Mapping[str, str],
    resources: AsyncExitStack,
    *,
    guard: Guard | None = None,
    link: WriterLink | None = None,
    lazy: bool = True,
) -> ToolBox:
    """Begins to connect the built-in servers and those of `mcp.json`; does not wait. `resources` closes what is opened.

    Built-in servers start through a fork server of this host (ADR 5), unless `mcp.json` puts others in their places.
    `guard` decides about calls, `link` leads to the ledger that new tool lists are recorded in. `lazy`: a server
    that is known starts at its first call.

    Raises:
        ConfigurationError: `mcp.json` cannot be used as it stands.
        OSError: the fork server cannot be started.
    """
    from agent_host.lessons.box import NAMES, LessonBox
    from agent_host.mcp_clients.builtin import MODULES, environment_of
    from agent_host.mcp_clients.home_rules import home_rules
    from agent_host.mcp_clients.manager import McpToolBox

    folder, logs = settings.home.folder("host"), log_folder(settings)
    servers, product = known_servers(settings, environ)
    if any(server.builtin and server.command for server in servers):
        words = ["service_runtime.forkserver", "--socket", str(_fork_socket(folder))]
        words += [word for module in MODULES for word in ("--allow", module)]
        words += [word for module in (*PRELOADED, *preloads(settings.values)) for word in ("--preload", module)]
        seen = environment_of("fork-server", tool_environment(environ, settings))
        forking = Child(words, seen, logs / "fork-server.log")
        resources.push_async_callback(asyncio.to_thread, forking.stop)
        forking.ensure()
    rules = home_rules(
        folder,
        guard=guard,
        ledger=None if link is None else manifest_ledger(link),
        unavailable=settings.get("UNAVAILABLE_TOOLS"),
        elsewhere=NAMES,
        lazy=lazy,
    )
    timeout_s = host_settings(settings).mcp_call_timeout_s
    tools = McpToolBox(servers, product, log=logs / "servers.log", call_timeout_s=timeout_s, rules=rules)
    resources.push_async_callback(tools.close)
    tools.start()
    if guard is None:
        return tools
    home = settings.home.path
    return LessonBox(
        tools, guard, home / "SOUL.md", home / "skills", skill_folder(settings), unavailable=rules.unavailable
    )


def known_servers(settings: Settings, environ: Mapping[str, str]) -> tuple[tuple[ServerConfig, ...], str]:
    """Returns the servers to use, built in or of `mcp.json`, and the version of this product.

    Raises:
        ConfigurationError: `mcp.json` cannot be used as it stands.
    """
    from agent_host.mcp_clients.builtin import builtin_servers

    socket = _fork_socket(settings.home.folder("host"))
    environment = tool_environment(environ, settings)
    builtin = builtin_servers(sys.executable, settings.home.path, environment, socket)
    return merged(builtin, read_servers(host_settings(settings).mcp_config, environ)), version("prometheus-agent")


def manifest_ledger(link: WriterLink) -> ManifestLedger:
    """Returns what records the tool lists of servers over this link."""
    from agent_host.receipts.components import ComponentLog

    return ComponentLog(link.client, link.ensure)


def _fork_socket(folder: Path) -> Path:
    return socket_path(folder, f"fork-{os.getpid()}.sock")


def log_folder(settings: Settings) -> Path:
    """Returns where child processes log, made when it is missing."""
    settings.home.folder("host")
    return settings.home.folder("host/logs")
