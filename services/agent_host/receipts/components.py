"""What the agent runs with, as entries of the chain `components` (L11)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from agent_host.errors import ReceiptRefusedError, WriterUnavailableError
from agent_host.mcp_clients.pinning import ManifestVersion
from agent_host.receipts.drafts import PRODUCT_ID
from agent_host.receipts.protocol import StoredEntry

_CHAIN: Final = "components"
_HASH_SHOWN: Final = 12

logger = logging.getLogger(__name__)


class Appender(Protocol):
    """The part of a receipt writer that takes entries of other layers."""

    async def append(self, chain: str, draft: Mapping[str, object]) -> StoredEntry:
        """Appends an entry.

        Raises:
            WriterUnavailableError, ReceiptRefusedError: it is not recorded, or that is not known.
        """
        ...


class ComponentLog:
    """A `ManifestLedger` over a receipt writer; `ensure_writer` brings the writer up, or raises."""

    def __init__(self, writer: Appender, ensure_writer: Callable[[], Awaitable[None]]) -> None:
        self._writer = writer
        self._ensure_writer = ensure_writer

    async def record(self, version: ManifestVersion) -> bool:
        """Records a version of a server's tools; False while the writer is away. A refused one is logged and done."""
        try:
            await self._ensure_writer()
            await self._writer.append(_CHAIN, manifest_draft(version))
        except WriterUnavailableError:
            return False
        except ReceiptRefusedError as error:
            logger.warning("the tools of %s are not in the ledger: %s", version.server, error)
        return True


def manifest_draft(version: ManifestVersion) -> dict[str, object]:
    """Returns the draft of a tool list's entry, by the ledger's names; the version is named by its hash."""
    return {
        "productId": PRODUCT_ID,
        "versionId": version.id,
        "kind": "tool-manifest",
        "name": version.server,
        "version": version.content_hash[:_HASH_SHOWN],
        "contentHash": version.content_hash,
        "previousHash": version.previous_hash,
        "source": version.source,
        "status": version.status,
    }
