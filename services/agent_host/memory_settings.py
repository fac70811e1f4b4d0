"""What the host can be told about memory in its turns, as one typed value (agent.md 2.10)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, TypeAlias, TypeVar

from agent_host.errors import ConfigurationError
from agent_host.settings import ProviderName, positive
from service_runtime.settings import Settings

_FULL_BP: Final = 10_000

RetrievalMode: TypeAlias = Literal["off", "rules", "model"]
SlotMode: TypeAlias = Literal["off", "local", "model"]
Mode = TypeVar("Mode", bound=str)


@dataclass(frozen=True)
class MemorySettings:
    """Gates and consolidation; shares in basis points, `consolidate_every` in exchanges."""

    retrieval_gate: RetrievalMode
    retrieval_top_k: int
    slot_gate: SlotMode
    slot_gate_keep_bp: int
    consolidate_every: int


def memory_settings(settings: Settings, provider: ProviderName) -> MemorySettings:
    """Reads the settings. The offline rules search by themselves, so that their gate is off unless it is set.

    Raises:
        ConfigurationError: a value cannot be used; the message names it and what to set.
    """
    retrieval: RetrievalMode = _one_of(
        settings, "RETRIEVAL_GATE", ("off", "rules", "model"), "off" if provider == "offline" else "model"
    )
    slots: SlotMode = _one_of(settings, "SLOT_GATE", ("off", "local", "model"), "off")
    for name, mode in (("RETRIEVAL_GATE", retrieval), ("SLOT_GATE", slots)):
        if mode == "model" and provider == "offline":
            raise ConfigurationError(f"PROMETHEUS_{name} is 'model', and the offline provider is none; set another.")
    return MemorySettings(
        retrieval_gate=retrieval,
        retrieval_top_k=min(positive(settings, "RETRIEVAL_TOP_K", 4), 50),
        slot_gate=slots,
        slot_gate_keep_bp=_share_bp(settings, "SLOT_GATE_KEEP", 5_000),
        consolidate_every=positive(settings, "CONSOLIDATE_EVERY", 6),
    )


def _one_of(settings: Settings, name: str, known: tuple[Mode, ...], default: Mode) -> Mode:
    told = settings.get(name) or default
    found = next((one for one in known if one == told), None)
    if found is None:
        raise ConfigurationError(f"PROMETHEUS_{name} is {told!r}; set one of: {', '.join(known)}.")
    return found


def _share_bp(settings: Settings, name: str, default: int) -> int:
    """Reads a share from 0 to 1 as basis points."""
    told = settings.get(name)
    if told is None:
        return default
    try:
        share = Decimal(told)
    except InvalidOperation:
        share = Decimal(-1)
    if not (share.is_finite() and 0 <= share <= 1):
        raise ConfigurationError(f"PROMETHEUS_{name} is {told!r}; set a number from 0 to 1, such as 0.5.")
    return int(share * _FULL_BP)
