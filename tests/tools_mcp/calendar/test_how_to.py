"""docs/how-to/calendar.md: every command in it works as it stands."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.tools_mcp.calendar.samples import GOOGLE_LIKE
from tests.tools_mcp.running import environment

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "calendar.md").read_text()


def test_every_command_runs_in_the_order_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "invitation.ics").write_bytes(GOOGLE_LIKE)
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    said = []
    for line in "".join(blocks).splitlines():
        program, *words = shlex.split(line)
        assert program == "tools-mcp"
        command = [sys.executable, "-m", "tools_mcp", *words]
        done = subprocess.run(
            command, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), line
        said.append(done.stdout.splitlines()[0])

    assert said == [
        f"{tmp_path / 'calendar'}",
        "calendar: 0 events and series",
        "invitation.ics: 2 would be added, 0 would be updated, 0 there already",
        "invitation.ics: 2 added, 0 updated, 0 there already",
        "everything.ics: 2 events and series",
        "december.ics: 2 events and series",
    ]


def test_the_settings_on_the_page_are_read_by_the_calendar() -> None:
    account = (ROOT / "services" / "tools_mcp" / "calendar" / "account.py").read_text()
    names = re.findall(r"^PROMETHEUS_(CALDAV_[A-Z]+)=", PAGE, flags=re.MULTILINE)

    assert names == ["CALDAV_URL", "CALDAV_USER", "CALDAV_PASSWORD"]
    assert all(f'"{name}"' in account for name in names)
