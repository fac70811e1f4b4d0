"""`memory-mcp`: runs the memory server for any MCP client, or one command on the whole store."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from service_runtime.mcp_server import run_service

COMMANDS: Mapping[str, str] = {
    "import": "take in memories of other programs, or what was edited by hand in the mirror",
    "export": "write all memories with their history as JSON lines or Markdown",
    "origins": "say where the memories came from, and how many of each",
    "forget": "forget memories by id, or all that came from one origin",
    "restore": "bring back forgotten memories by id, or all that came from one origin",
    "salvage": "get all that can be read out of a damaged store into a new one",
}
"""What `memory-mcp COMMAND` does instead of serving."""


def main() -> int:
    """Runs the server or a command, and returns the exit status."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in COMMANDS:
        from memory_mcp import commands

        return commands.run(arguments[0], COMMANDS[arguments[0]], arguments[1:])
    from memory_mcp.app import memory_service

    return run_service(memory_service(COMMANDS), arguments)


if __name__ == "__main__":
    sys.exit(main())
