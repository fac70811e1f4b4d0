"""What child processes of the host may see of its environment."""

from __future__ import annotations

from collections.abc import Mapping

from service_runtime.settings import Settings

MODEL_KEYS = frozenset({"PROMETHEUS_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"})
"""Read by the host alone: no child process gets them."""
WRITER_TOKENS = frozenset({"PROMETHEUS_WRITER_TOKEN", "PROMETHEUS_WRITER_TOKEN_FILE"})
"""By which a writer that runs elsewhere knows the host: no child process gets them either."""
WRITER_SECRETS = "PROMETHEUS_RECEIPTS_"
"""How the names of the receipt writer's passphrase and seeds begin: no tool server gets them."""


def child_environment(environ: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Returns what a child process may see: this process's environment and our settings, not the host's own secrets."""
    secrets = MODEL_KEYS | WRITER_TOKENS
    return {name: value for name, value in environ.items() if name not in secrets} | settings.environment()


def tool_environment(environ: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Returns what a tool server may see: what any child may, without the secrets of the receipt writer."""
    allowed = child_environment(environ, settings)
    return {name: value for name, value in allowed.items() if not name.startswith(WRITER_SECRETS)}
