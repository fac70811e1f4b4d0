"""A host that is going to be killed: it starts a fork server and a demo through it, says who they are, and waits.

Run as `host.py SOCKET`; it expects the demo on PYTHONPATH.
"""

import json
import subprocess
import sys
from pathlib import Path

from service_runtime import launch

PIPE = subprocess.PIPE
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}

socket = sys.argv[1]
server = subprocess.Popen(
    [sys.executable, "-m", "service_runtime.forkserver", "--socket", socket, "--allow", "demo_mcp"], stdin=PIPE
)
while not Path(socket).exists():
    assert server.poll() is None
demo = subprocess.Popen(
    [sys.executable, "-S", "-I", launch.__file__, "--socket", socket, "demo_mcp"], stdin=PIPE, stdout=PIPE
)
assert demo.stdin is not None
assert demo.stdout is not None
for number, method, params in (
    (1, "initialize", INITIALIZE),
    (2, "tools/call", {"name": "demo_process", "arguments": {}}),
):
    demo.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
    demo.stdin.flush()
    answer = json.loads(demo.stdout.readline())
pids = [server.pid, demo.pid, answer["result"]["structuredContent"]["pid"]]
sys.stdout.write(json.dumps(pids) + "\n")
sys.stdout.flush()
server.wait()
