"""Whom a constrained call of a command is answered by; `app` makes the rest."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from agent_host.app import open_provider
from agent_host.constrained.options import CallOptions
from agent_host.providers.protocol import Identity
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
