"""`python -m demo_mcp`: the entry point, as thin as a real service's."""

import sys

from .service import SERVICE


def main() -> int:
    """Run the demo server."""
    from service_runtime.mcp_server import run_service

    return run_service(SERVICE, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
