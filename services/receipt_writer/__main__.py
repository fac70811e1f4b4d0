"""`receipt-writer`, and `python -m receipt_writer`."""

import sys

from receipt_writer.errors import RequestRefusedError
from service_runtime.errors import ServiceError, SetupError


def main() -> int:
    """Run the command line of `sys.argv`; return the exit status: 0 all is well, 1 the ledger is not, 2 wrong use."""
    try:
        if sys.argv[1:2] == ["serve"]:  # in a hurry: see serving.py
            from receipt_writer import serving

            return serving.main(sys.argv[2:])
        from receipt_writer import cli

        cli.app(prog_name="receipt-writer")
    except ServiceError as error:
        sys.stderr.write(f"receipt-writer: {error}\n")
        return 2 if isinstance(error, SetupError | RequestRefusedError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
