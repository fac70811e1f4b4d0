from __future__ import annotations

from collections.abc import Mapping

import pytest

from agent_host.errors import HostError, ReceiptRefusedError, WriterUnavailableError
from agent_host.mcp_clients.pinning import ManifestVersion
from agent_host.receipts.components import ComponentLog, manifest_draft
from agent_host.receipts.protocol import StoredEntry

VERSION = ManifestVersion("v_01KC8Q3G5M2X5T4Z2N0V8W7R6A", "far", "a" * 64, "b" * 64, "stdio: far", "seen")


class Writer:
    """Takes entries, or fails."""

    def __init__(self, failure: HostError | None = None) -> None:
        self._failure = failure
        self.appended: list[tuple[str, Mapping[str, object]]] = []

    async def append(self, chain: str, draft: Mapping[str, object]) -> StoredEntry:
        if self._failure is not None:
            raise self._failure
        self.appended.append((chain, draft))
        return StoredEntry(1, "c" * 64, 0, "{}")


async def _there() -> None:
    return


async def _away() -> None:
    raise WriterUnavailableError("No receipt writer answers.")


async def test_a_version_is_one_entry_of_the_chain_of_components() -> None:
    writer = Writer()
    assert await ComponentLog(writer, _there).record(VERSION)
    assert writer.appended == [("components", manifest_draft(VERSION))]
    draft = manifest_draft(VERSION)
    assert (draft["kind"], draft["name"], draft["status"]) == ("tool-manifest", "far", "seen")
    assert (draft["contentHash"], draft["previousHash"], draft["version"]) == ("a" * 64, "b" * 64, "a" * 12)


async def test_while_the_writer_is_away_the_version_waits() -> None:
    assert not await ComponentLog(Writer(), _away).record(VERSION)
    assert not await ComponentLog(Writer(WriterUnavailableError("gone")), _there).record(VERSION)


async def test_a_version_that_is_refused_waits_no_more_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert await ComponentLog(Writer(ReceiptRefusedError("not so")), _there).record(VERSION)
    assert "the tools of far are not in the ledger: not so" in caplog.text
