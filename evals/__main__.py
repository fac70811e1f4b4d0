"""`python -m evals turns`, as `agent-host turns`; `python -m evals gate`: may this be released?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agent_host.cli import run

OUT: Final = Path("build/evals")


def main(arguments: Sequence[str]) -> int:
    """Runs one command; returns 2 for one that is none."""
    if arguments[:1] == ["turns"]:
        return run(arguments)
    parser = argparse.ArgumentParser(prog="python -m evals")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("turns", help="five checks of finished turns; the options of `agent-host turns`")
    gating = commands.add_parser("gate", help="run every suite and say whether this may be released")
    gating.add_argument("--without-judge", action="store_true", help="open the gate although no model judged")
    gating.add_argument("--out", type=Path, default=OUT, help=f"where the report goes (else {OUT})")
    try:
        told = parser.parse_args(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    from evals.release_gate import gate

    return gate(told.out, without_judge=told.without_judge)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
