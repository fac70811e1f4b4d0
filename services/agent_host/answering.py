"""Makes the provider that answers; each one's SDK is loaded only where it is the chosen one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from agent_host.settings import HostSettings
from service_runtime.settings import Settings

if TYPE_CHECKING:
    from agent_host.providers.protocol import Provider, Usage


def open_provider(settings: Settings, told: HostSettings) -> tuple[Provider, Callable[[Usage], int | None]]:
    """Makes the chosen provider and the function that prices its calls in micro-dollars."""
    from agent_host.providers.pricing import cost_micro_usd

    provider: Provider
    if told.provider == "offline":
        from agent_host.providers.offline.provider import OfflineProvider

        zone = settings.zone()
        offline = OfflineProvider(lambda: datetime.now(zone), zone)
        offline.warm_up()
        provider = offline
    elif told.provider == "openai-compatible":
        from agent_host.providers.openai_compatible.provider import OpenAiCompatibleProvider

        compatible = OpenAiCompatibleProvider(
            model=told.model, api_key=told.api_key or "", base_url=told.base_url, timeout_s=told.llm_timeout_s
        )
        compatible.warm_up()
        provider = compatible
    else:
        from agent_host.providers.anthropic.provider import AnthropicProvider

        claude = AnthropicProvider(
            model=told.model, api_key=told.api_key or "", base_url=told.base_url, timeout_s=told.llm_timeout_s
        )
        claude.warm_up()
        provider = claude
    who = provider.identity
    return provider, lambda usage: cost_micro_usd(who.provider, who.model, usage)
