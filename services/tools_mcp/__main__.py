"""`tools-mcp NAME`: runs one of the tool servers; `tools-mcp --help` lists them."""

import sys
from importlib.metadata import version

from service_runtime.mcp_server import run_service
from tools_mcp.registry import SERVERS


def main() -> int:
    """Run the server that the first argument names; the rest of the command line is the server's own."""
    arguments = sys.argv[1:]
    name = arguments[0] if arguments else "--help"
    server = next((server for server in SERVERS if server.name == name), None)
    if server is not None and arguments[1:2] and arguments[1] in server.commands:
        return server.commands[arguments[1]](arguments[2:])
    if server is not None:
        return run_service(server.service(), arguments[1:])
    if name in {"--help", "-h"}:
        sys.stdout.write(_help())
        return 0 if arguments else 2
    if name == "--version":
        sys.stdout.write(f"tools-mcp {version('prometheus-agent')}\n")
        return 0
    names = ", ".join(server.name for server in SERVERS)
    sys.stderr.write(f"tools-mcp: there is no server {name!r}; use one of {names}.\n")
    return 2


def _help() -> str:
    lines = [f"  {server.name:<10} {server.summary}" for server in SERVERS]
    return "\n".join(
        [
            "usage: tools-mcp NAME [options]",
            "",
            "Each name is a server of its own, for any MCP client:",
            *lines,
            "",
            "tools-mcp NAME --help tells its options.\n",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
