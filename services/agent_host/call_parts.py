"""Who answers the constrained calls of a command, and where their entries go; `app` makes the rest."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from agent_host.answering import open_provider
from agent_host.app import CallDesk
from agent_host.constrained.options import CallOptions
from agent_host.errors import HomeInUseError
from agent_host.home_lock import HomeLock
from agent_host.providers.protocol import Identity
from agent_host.receipts.beside import LedgerBeside
from agent_host.receipts.log import ReceiptLog
from agent_host.receipts.protocol import CallLedger
from agent_host.receipts.spool import Spool
from agent_host.settings import host_settings
from service_runtime.settings import Settings


def calls_of_model(
    settings: Settings, calls: CallOptions, identity: Identity, resources: AsyncExitStack
) -> CallOptions:
    """Returns calls that this model answers, where it is another one of the provider that is set up; else the same.

    A spec names its model, which need not be the one for conversations: `PROMETHEUS_SMALL_MODEL` answers the gates.
    """
    told = host_settings(settings)
    if calls.provider is None or calls.provider.identity == identity or identity.provider != told.priced_as:
        return calls
    provider, cost = open_provider(settings, replace(told, model=identity.model))
    resources.push_async_callback(provider.close)
    return replace(calls, provider=provider, cost=cost)


def open_ledger(settings: Settings, desk: CallDesk, resources: AsyncExitStack) -> CallLedger:
    """Returns the ledger of calls: with the home and its spool where nobody holds it, else beside whoever does.

    `resources` lets the home go.
    """
    folder = settings.home.folder("host")
    try:
        lock = HomeLock(folder / "lock", settings.home.path)
    except HomeInUseError:
        return LedgerBeside(desk.link.client, desk.openings, desk.link.connect)
    resources.callback(lock.release)
    return ReceiptLog(desk.link.client, Spool(folder / "spool.jsonl"), desk.openings, desk.link.ensure)
