"""Whether the server of a model answers and has it, for `agent-host doctor`. No model is asked, so it costs nothing."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from agent_host.errors import ProviderError
from agent_host.providers.openai_compatible import checked_endpoint
from agent_host.settings import HostSettings

_PATIENCE_S: Final = 5.0
_NAMED: Final = 5


Seen: TypeAlias = tuple[Literal["ok", "note", "wrong"], str]


async def look_at_model_server(told: HostSettings) -> Seen | None:
    """Asks the server of a model whether it has it; None for the offline rules, which need none.

    A server may know a model under more names than it tells, so a name that is missing is a note.

    Raises:
        ConfigurationError: the settings of the provider cannot be used.
    """
    try:
        match told.provider:
            case "openai-compatible":
                return await _compatible(told)
            case "anthropic":
                return await _anthropic(told)
            case _:
                return None
    except ProviderError as error:
        return "wrong", str(error)


async def _anthropic(told: HostSettings) -> Seen:
    from agent_host.providers.anthropic import endpoint
    from agent_host.providers.anthropic.sdk import has_model

    asked = endpoint.checked_endpoint(told.model, told.api_key or "", told.base_url, _PATIENCE_S)
    if await has_model(asked):
        return "ok", f"{asked.host} answers and has {told.model}."
    return "note", f"{asked.host} answers, but does not know {told.model}; check PROMETHEUS_MODEL when a turn fails."


async def _compatible(told: HostSettings) -> Seen:
    from agent_host.providers.openai_compatible.sdk import listed_models

    endpoint = checked_endpoint(told.model, told.api_key or "", told.base_url, _PATIENCE_S)
    names = await listed_models(endpoint)
    if names is None:
        return "note", f"{endpoint.host} answers, but lists no models; check PROMETHEUS_BASE_URL when a turn fails."
    if any(told.model in {name, name.partition(":")[0]} for name in names):  # Ollama's names end in :latest
        return "ok", f"{endpoint.host} answers and has {told.model}."
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return "note", f"{endpoint.host} answers, but does not list {told.model}; it has {shown or 'none'}."
