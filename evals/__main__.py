"""`python -m evals turns`: what `agent-host turns` says, under the name that evaluations go by."""

from __future__ import annotations

import sys

from agent_host.cli import run

USAGE = "usage: python -m evals turns [TURN] [--window today|7d|all] [--home HOME] [--json]\n"


def main(arguments: list[str]) -> int:
    """Runs one command; returns 2 for one that is none."""
    if arguments[:1] != ["turns"]:
        sys.stderr.write(USAGE)
        return 2
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
