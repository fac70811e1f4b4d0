import subprocess
import sys


def loaded_after(code: str) -> set[str]:
    """Returns which modules a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_neither_the_planner_nor_the_date_library() -> None:
    loaded = loaded_after("import agent_host.providers.offline")
    assert not loaded & {"dateparser", "dateutil", "agent_host.providers.offline.planner"}


def test_importing_the_planner_does_not_load_the_date_library() -> None:
    loaded = loaded_after("import agent_host.providers.offline.planner")
    assert not loaded & {"dateparser", "dateutil", "asyncio"}
