"""`receipt-writer`, and `python -m receipt_writer`."""

import sys

from service_runtime.errors import ServiceError, SetupError

_EXTRA = "prometheus-agent[writer]"


def main() -> int:
    """Run the command line of `sys.argv`; return the exit status: 0 all is well, 1 the ledger is not, 2 wrong use."""
    try:
        if sys.argv[1:2] == ["serve"]:  # in a hurry: see serving.py
            from receipt_writer import serving

            return serving.main(sys.argv[2:])
        from receipt_writer import cli

        cli.app(prog_name="receipt-writer")
    except ModuleNotFoundError as error:
        sys.stderr.write(f"receipt-writer: {error.name} is not installed; run: pip install '{_EXTRA}'\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"receipt-writer: {error.filename or 'the disk'} cannot be used: {error.strerror or error}\n")
        return 2
    except ServiceError as error:
        sys.stderr.write(f"receipt-writer: {error}\n")
        return 2 if _is_wrong_use(error) else 1
    return 0


def _is_wrong_use(error: ServiceError) -> bool:
    from receipt_writer.errors import RequestRefusedError

    return isinstance(error, SetupError | RequestRefusedError)


if __name__ == "__main__":
    sys.exit(main())
