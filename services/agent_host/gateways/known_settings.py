"""The names of all settings, so that one that was misspelt is found. Pure; a test compares it with what code reads."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

PREFIX: Final = "PROMETHEUS_"
KNOWN: Final = frozenset(
    {
        "API_KEY",
        "BASE_URL",
        "BRAVE_API_KEY",
        "CALDAV_PASSWORD",
        "CALDAV_URL",
        "CALDAV_USER",
        "CONSOLIDATE_EVERY",
        "DAY_BUDGET_USD",
        "EMBEDDINGS",
        "EMBEDDINGS_KEY",
        "EMBEDDINGS_MODEL",
        "EMBEDDINGS_URL",
        "HISTORY_TURNS",
        "HOME",
        "LLM_TIMEOUT",
        "LOG_LEVEL",
        "MAX_ITERATIONS",
        "MAX_TOKENS",
        "MCP_ALLOWED_HOSTS",
        "MCP_CALL_TIMEOUT",
        "MCP_CONFIG",
        "MCP_TOKEN",
        "MEMORY_IMPORT_FOLDER",
        "MEMORY_MIRROR",
        "MEMORY_STORE",
        "MEMORY_WEIGHTS",
        "MODEL",
        "PROVIDER",
        "RECEIPTS_CHECKPOINT_SEED",
        "RECEIPTS_CHECKPOINT_SEED_NEXT",
        "RECEIPTS_ENTRY_SEED",
        "RECEIPTS_ENTRY_SEED_NEXT",
        "RECEIPTS_PASSPHRASE",
        "RETRIEVAL_GATE",
        "RETRIEVAL_TOP_K",
        "SEARCH_PROVIDERS",
        "SEARXNG_URL",
        "SLOT_GATE",
        "SLOT_GATE_KEEP",
        "SMALL_MODEL",
        "TAVILY_API_KEY",
        "TIMEZONE",
        "TURN_BUDGET_USD",
        "UNAVAILABLE_TOOLS",
        "WRITER",
        "WRITER_CA",
        "WRITER_TOKEN",
        "WRITER_TOKEN_FILE",
    }
)


def misspelt(names: Iterable[str]) -> list[tuple[str, str | None]]:
    """Returns each name with our prefix that nothing reads, and the setting that was probably meant."""
    unknown = sorted(name for name in names if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in KNOWN)
    return [(name, _meant(name.removeprefix(PREFIX))) for name in unknown]


def _meant(name: str) -> str | None:
    close = difflib.get_close_matches(name.upper(), KNOWN, n=1, cutoff=0.75)
    return f"{PREFIX}{close[0]}" if close else None
