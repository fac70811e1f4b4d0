import subprocess
import sys

from tests.service_runtime.processes import PATIENCE_S


def run(program: str) -> int:
    return subprocess.run([sys.executable, "-c", program], timeout=PATIENCE_S, check=False).returncode


def test_a_process_that_a_thread_holds_is_ended_with_status_1() -> None:
    hold = "import threading; threading.Thread(target=threading.Event().wait).start()"
    assert run(f"{hold}; from service_runtime.shutdown import leave_within; leave_within(0.1)") == 1


def test_a_process_that_ends_by_itself_is_not_kept_waiting() -> None:
    assert run(f"from service_runtime.shutdown import leave_within; leave_within({PATIENCE_S * 10})") == 0
