"""`memory-mcp`: runs the memory server for any MCP client, over stdio or HTTP."""

from __future__ import annotations

import sys

from memory_mcp.app import memory_service
from service_runtime.mcp_server import run_service


def main() -> int:
    """Runs the server and returns the exit status."""
    return run_service(memory_service(), sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
