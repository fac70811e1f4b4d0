"""Whether the server of a model answers and has it, for `agent-host doctor`. No model is asked, so it costs nothing."""

from __future__ import annotations

from typing import Final, Literal

from agent_host.errors import ProviderError
from agent_host.providers.openai_compatible import checked_endpoint
from agent_host.settings import HostSettings

_PATIENCE_S: Final = 5.0
_NAMED: Final = 5


async def look_at_model_server(told: HostSettings) -> tuple[Literal["ok", "note", "wrong"], str] | None:
    """Asks a server that speaks as OpenAI does which models it has; None for any other provider.

    A server may know a model under more names than it lists, so a name that is missing is a note.

    Raises:
        ConfigurationError: the settings of the provider cannot be used.
    """
    if told.provider != "openai-compatible":
        return None
    from agent_host.providers.openai_compatible.sdk import listed_models

    endpoint = checked_endpoint(told.model, told.api_key or "", told.base_url, _PATIENCE_S)
    try:
        names = await listed_models(endpoint)
    except ProviderError as error:
        return "wrong", str(error)
    if names is None:
        return "note", f"{endpoint.host} answers, but lists no models; check PROMETHEUS_BASE_URL when a turn fails."
    if any(told.model in {name, name.partition(":")[0]} for name in names):  # Ollama's names end in :latest
        return "ok", f"{endpoint.host} answers and has {told.model}."
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return "note", f"{endpoint.host} answers, but does not list {told.model}; it has {shown or 'none'}."
