"""`agent-host`: chat, ask, receipts, and nothing imported that the chosen command does not need."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line and returns its exit status; see `cli.py`."""
    from agent_host.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
