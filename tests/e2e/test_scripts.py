"""The program in scripts: what docs/how-to/terminal.md shows of it, run as it stands there."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.e2e.conftest import BIN, ROOT, Person

pytestmark = pytest.mark.slow  # starts many processes

PAGE = (ROOT / "docs/how-to/terminal.md").read_text()


def test_the_lines_for_scripts_work(person: Person) -> None:
    person.without_tools()
    script = PAGE.partition("## From scripts")[2].partition("```sh\n")[2].partition("```")[0]
    (person.folder / "report.txt").write_text("Tea is good.\n")
    (person.folder / "questions.txt").write_text("What is 1 + 1?\nWhat is 2 + 2?\n")

    done = subprocess.run(
        ["/bin/sh", "-e", "-c", script],
        capture_output=True,
        cwd=person.folder,
        env={**person.environ, "PATH": f"{BIN}:/usr/bin:/bin"},
        timeout=55,
        check=False,
    )

    shown = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    assert shown.count("2 + 3 = 5") == 2
    assert "2 + 2 = 4" in shown
    assert [int(number) for number in re.findall(r"receipt (\d+) signed\n", shown)] == [1, 3, 4, 5, 6, 7]
