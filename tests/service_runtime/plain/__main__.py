"""`python -m plain`: says what its process is like in one JSON line, then waits for the end of its input."""

import json
import os
import sys
from pathlib import Path


def main() -> int:
    """Return 3, so that an orderly end is told from every other."""
    found = {"pid": os.getpid(), "folder": str(Path.cwd()), "arguments": sys.argv[1:], "colour": os.environ["COLOUR"]}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    sys.stderr.write("a word on stderr\n")
    sys.stdin.read()
    Path("ended").touch()
    return 3


if __name__ == "__main__":
    sys.exit(main())
