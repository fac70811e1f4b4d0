"""What was answered with `always`, kept in `host/permissions.json`: by server and tool, with the tool's hash.

A tool that changes is another tool: its `always` counts no more.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from agent_host.mcp_clients.private_file import write_private

logger = logging.getLogger(__name__)


class StandingPermissions:
    """The file, read anew for each question, as another process may have written it; none at all without a path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._granted: dict[str, dict[str, str]] = {}

    def holds(self, server: str, tool: str, tool_hash: str) -> bool:
        """Tells whether `always` was answered for this very tool."""
        self._read()
        return self._granted.get(server, {}).get(tool) == tool_hash

    def grant(self, server: str, tool: str, tool_hash: str) -> None:
        """Keeps an `always`; when the disk refuses, it holds for as long as this process lives."""
        self._read()
        self._granted.setdefault(server, {})[tool] = tool_hash
        if self._path is None:
            return
        try:
            write_private(self._path, json.dumps(self._granted, ensure_ascii=False, indent=1))
        except OSError as error:
            logger.warning("%s cannot be written (%s); an `always` in it is lost", self._path, error.strerror)

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError):
            logger.warning("%s cannot be read; delete it, and answer anew", self._path)
            return
        tables = document.items() if isinstance(document, dict) else ()
        self._granted = {
            server: {tool: kept for tool, kept in tools.items() if isinstance(kept, str)}
            for server, tools in tables
            if isinstance(tools, dict)
        }
