"""How many files this process may have open: enough to begin with, and more where the system allows it."""

import resource

from service_runtime.errors import SetupError

LEAST = 64
"""A ledger's own files, a socket and a few callers; with fewer the gRPC library ends the process without a word."""

_ENOUGH = 4096  # each tenant's ledger takes about 20, each caller one


def make_room() -> None:
    """Raise the limit of open files as far as it is useful and allowed.

    Raises:
        SetupError: It stays below the least that a writer needs.
    """
    present, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if allowed == resource.RLIM_INFINITY else min(_ENOUGH, allowed)
    if present != resource.RLIM_INFINITY and present < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, allowed))
        present = wanted
    if present != resource.RLIM_INFINITY and present < LEAST:
        raise SetupError(
            f"This process may open {present} files, and a writer needs {LEAST} at least; raise the limit (ulimit -n)."
        )
