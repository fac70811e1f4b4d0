"""`python -m plain`: says what its process is like in one JSON line, then waits for the end of its input.

`--deaf` waits for ever instead, whatever it is told, like a server that hangs in C code.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> int:
    """Return 3, so that an orderly end is told from every other."""
    deaf = "--deaf" in sys.argv
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    found = {"pid": os.getpid(), "folder": str(Path.cwd()), "arguments": sys.argv[1:], "colour": os.environ["COLOUR"]}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    sys.stderr.write("a word on stderr\n")
    while deaf:
        time.sleep(60)
    sys.stdin.read()
    Path("ended").touch()
    return 3


if __name__ == "__main__":
    sys.exit(main())
