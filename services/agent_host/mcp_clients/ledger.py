"""The seam by which a server's tool lists get into the ledger (L11)."""

from __future__ import annotations

from typing import Protocol

from agent_host.mcp_clients.pinning import ManifestVersion


class ManifestLedger(Protocol):
    """Records versions of tool lists; recording one twice is recording it once."""

    async def record(self, version: ManifestVersion) -> bool:
        """Records a version; returns False when the ledger cannot take it now, and it should be offered again."""
        ...
