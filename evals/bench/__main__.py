"""`python -m evals.bench [NAME …]`: prints figures with the load they were taken under, peers beside them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from evals.bench import append_path, constrained, host, ledger, memory, recovery, verifiers

BENCHES: dict[str, Callable[[], int]] = {
    "host": host.main,
    "constrained": constrained.main,
    "ledger": ledger.main,
    "append": append_path.main,
    "recovery": recovery.main,
    "verifiers": verifiers.main,
    "memory": memory.main,
}


def main(names: list[str]) -> int:
    """Runs the named benchmarks, or all; returns 2 for a name that is none. Options go to the benchmarks."""
    names = [name for name in names if not name.startswith("-")]
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        sys.stderr.write(f"There is no benchmark {unknown[0]}; there are {', '.join(BENCHES)}.\n")
        return 2
    for name in names or BENCHES:
        print(f"== {name} (load {os.getloadavg()[0]:.1f})")
        BENCHES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
