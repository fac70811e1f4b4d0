"""What the host can be told, as one typed value (architecture, Configuration; agent.md 2.10)."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from agent_host.endpoint_rules import is_token
from agent_host.errors import ConfigurationError
from agent_host.providers.anthropic import DEFAULT_MODEL
from agent_host.providers.openai_compatible import checked_endpoint, shown_host, takes_openai_key
from service_runtime.settings import Settings

ProviderName: TypeAlias = Literal["offline", "anthropic", "openai-compatible"]


@dataclass(frozen=True)
class HostSettings:
    """The host's settings; times in seconds, counts in whole numbers."""

    provider: ProviderName
    model: str
    small_model: str  # of the gates and the consolidation
    api_key: str | None
    base_url: str | None
    writer: str | None  # gRPC target of a writer that runs elsewhere; None: the host runs its own
    writer_ca: Path | None  # certificates to trust (PEM): that writer speaks TLS then
    mcp_config: Path
    max_iterations: int
    max_tokens: int
    history_turns: int
    mcp_call_timeout_s: int
    llm_timeout_s: int  # how long a model may be silent

    @property
    def answered_by(self) -> str:
        """Who answers, for a person to read: the provider, or the host that speaks as OpenAI does."""
        return shown_host(self.base_url) if self.provider == "openai-compatible" else self.provider

    @property
    def priced_as(self) -> Literal["offline", "anthropic", "openai", "openai-compatible"]:
        """By which provider's price list, in the ledger's word for it."""
        is_openai = self.provider == "openai-compatible" and takes_openai_key(self.base_url)
        return "openai" if is_openai else self.provider

    @property
    def llm_deadline_s(self) -> int:
        """How long a whole model call may take: long replies stream for minutes, silent ones are asked once more."""
        return 5 * self.llm_timeout_s


def host_settings(settings: Settings) -> HostSettings:
    """Reads the host's settings.

    Raises:
        ConfigurationError: a value cannot be used; the message names it and what to set.
    """
    provider = _provider(settings.get("PROVIDER") or "offline")
    model = _model(settings, provider)
    return HostSettings(
        provider=provider,
        model=model,
        small_model=(settings.get("SMALL_MODEL") or model) if provider != "offline" else model,
        api_key=_api_key(settings, provider),
        base_url=settings.get("BASE_URL"),
        writer=settings.get("WRITER"),
        writer_ca=_writer_ca(settings),
        mcp_config=_mcp_config(settings),
        max_iterations=positive(settings, "MAX_ITERATIONS", 15),
        max_tokens=positive(settings, "MAX_TOKENS", 8192),
        history_turns=positive(settings, "HISTORY_TURNS", 12),
        mcp_call_timeout_s=positive(settings, "MCP_CALL_TIMEOUT", 120),
        llm_timeout_s=positive(settings, "LLM_TIMEOUT", 120),
    )


def writer_token(settings: Settings) -> str | None:
    """Reads the token by which a writer that runs elsewhere knows this host, None when none is set.

    Raises:
        ConfigurationError: its file cannot be used, it is no token, or there are two.
    """
    token, named = settings.get("WRITER_TOKEN"), settings.get("WRITER_TOKEN_FILE")
    if token and named:
        raise ConfigurationError("Both PROMETHEUS_WRITER_TOKEN and PROMETHEUS_WRITER_TOKEN_FILE are set; keep one.")
    if named:
        token = _private_text(Path(named).expanduser()).strip()
    if token is not None and not is_token(token):
        raise ConfigurationError("The writer's token is none; set what `receipt-writer token add` printed.")
    return token


def _private_text(path: Path) -> str:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ConfigurationError(f"PROMETHEUS_WRITER_TOKEN_FILE names {path}, which is no file; correct it.")
        if status.st_mode & 0o077:
            raise ConfigurationError(f"{path} holds a token and others can read it; run: chmod 600 {path}")
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigurationError(f"PROMETHEUS_WRITER_TOKEN_FILE: {path} cannot be read: {reason}.") from error


def _writer_ca(settings: Settings) -> Path | None:
    told = settings.get("WRITER_CA")
    if told is None:
        return None
    path = Path(told).expanduser()
    if not path.is_file():
        raise ConfigurationError(f"PROMETHEUS_WRITER_CA names {told}, which is no file; correct it or leave it out.")
    return path


def _mcp_config(settings: Settings) -> Path:
    told = settings.get("MCP_CONFIG")
    if told is None:
        return settings.home.path / "mcp.json"
    path = Path(told).expanduser()
    if not path.is_file():
        raise ConfigurationError(f"PROMETHEUS_MCP_CONFIG names {told}, which is no file; correct it or leave it out.")
    return path


def require_key(told: HostSettings) -> None:
    """Checks that the chosen provider has the key and the model it needs; reading receipts needs none.

    Raises:
        ConfigurationError: one is missing or cannot be one; the message names the settings that take it.
    """
    if told.provider == "openai-compatible":
        checked_endpoint(told.model, told.api_key or "", told.base_url, told.llm_timeout_s)
    if told.provider == "anthropic" and not told.api_key:
        raise ConfigurationError(
            "PROMETHEUS_PROVIDER=anthropic needs a key: set PROMETHEUS_API_KEY (or ANTHROPIC_API_KEY) "
            "in the environment or in a .env file."
        )


def _model(settings: Settings, provider: ProviderName) -> str:
    match provider:
        case "offline":
            return "offline-rules"
        case "anthropic":
            return settings.get("MODEL") or DEFAULT_MODEL
        case _:
            return settings.get("MODEL") or ""


def _api_key(settings: Settings, provider: ProviderName) -> str | None:
    """Returns our own key, else that of the vendor's variable, which nobody but the vendor is shown."""
    if provider != "openai-compatible":
        return settings.get("API_KEY") or settings.outside("ANTHROPIC_API_KEY")
    vendors = settings.outside("OPENAI_API_KEY") if takes_openai_key(settings.get("BASE_URL")) else None
    return settings.get("API_KEY") or vendors


def _provider(told: str) -> ProviderName:
    match told:
        case "offline" | "anthropic" | "openai-compatible":
            return told
        case _:
            known = ", ".join(get_args(ProviderName))
            raise ConfigurationError(f"PROMETHEUS_PROVIDER is {told!r}, which is not known here; set one of: {known}.")


def positive(settings: Settings, name: str, default: int) -> int:
    """Reads a whole number above 0.

    Raises:
        ConfigurationError: it is something else.
    """
    told = settings.get(name)
    if told is None:
        return default
    if not told.isascii() or not told.isdigit() or int(told) < 1:
        raise ConfigurationError(f"PROMETHEUS_{name} is {told!r}; set a whole number above 0.")
    return int(told)
