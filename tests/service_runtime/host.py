"""A host that is going to be killed: it starts a fork server and a server through it, says who they are, and waits.

Run as `host.py SOCKET [ARGUMENT …]`; it expects the module `plain` on PYTHONPATH, which gets the arguments.
"""

import json
import subprocess
import sys
from pathlib import Path

from service_runtime import launch

PIPE = subprocess.PIPE

socket, *arguments = sys.argv[1:]
fork_server = subprocess.Popen(
    [sys.executable, "-m", "service_runtime.forkserver", "--socket", socket, "--allow", "plain"], stdin=PIPE
)
while not Path(socket).exists():
    assert fork_server.poll() is None
server = subprocess.Popen(
    [sys.executable, "-S", "-I", launch.__file__, "--socket", socket, "plain", *arguments], stdin=PIPE, stdout=PIPE
)
assert server.stdout is not None
pids = [fork_server.pid, server.pid, json.loads(server.stdout.readline())["pid"]]
sys.stdout.write(json.dumps(pids) + "\n")
sys.stdout.flush()
fork_server.wait()
