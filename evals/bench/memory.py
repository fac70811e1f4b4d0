"""The memory server: how well it finds, how it grows, and how that compares with others.

`python -m evals.bench memory [--large] [--data=FILE] [--only=recall|paraphrases|growth]`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.bench.memory_paraphrases import print_paraphrases
from evals.bench.memory_peers import print_growth
from evals.bench.memory_recall import LOCOMO, print_recall

SIZES, LARGE = (1_000, 10_000), 100_000
PARTS = ("recall", "paraphrases", "growth")


def main() -> int:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description="Recall, growth and peers of the memory server.")
    parser.add_argument("--data", type=Path, default=LOCOMO, help="the file locomo10.json")
    parser.add_argument(
        "--large", action="store_true", help=f"grow to {LARGE:,} memories too, with every peer (a quarter of an hour)"
    )
    parser.add_argument("--only", choices=PARTS, help="measure one part")
    parser.add_argument("--no-model", action="store_true", help="leave the packaged model out of the recall")
    options, _ = parser.parse_known_args()
    parts = (options.only,) if options.only else PARTS
    if "recall" in parts:
        print_recall(options.data, dense=not options.no_model)
    if "paraphrases" in parts:
        print_paraphrases()
    if "growth" in parts:
        print_growth((*SIZES, LARGE) if options.large else SIZES)
    return 0
