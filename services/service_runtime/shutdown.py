"""Leaving in time: a server whose caller is gone ends within two seconds, whatever its tools are doing."""

import os
import signal
import threading

STOPPING = frozenset({signal.SIGTERM, signal.SIGINT})


def leave_within(seconds: float) -> None:
    """End the process (status 1) after this time unless it has ended by itself.

    A tool that blocks a worker thread cannot be cancelled, and the interpreter waits for such threads. By then the
    orderly way had its chance; stores survive this because they survive a power cut.
    """
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()
