"""The commands printed in docs/how-to/change-keys.md, run in their order as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from receipt_writer.signers.environment import next_seed_variable, seed_variable
from tests.receipt_writer.format.material import ROOT

pytestmark = pytest.mark.slow  # starts many processes

PAGE = (ROOT / "docs" / "how-to" / "change-keys.md").read_text(encoding="utf-8")
COMMANDS = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))


@pytest.mark.timeout(180)  # a dozen processes, of which four start a writer of their own
def test_the_commands_of_the_page_run_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "verifier").symlink_to(ROOT / "verifier")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PROMETHEUS_HOME": str(tmp_path / "home"), "PATH": programs}
    ran = subprocess.run(
        ["bash", "-euc", COMMANDS],  # noqa: S607 -- the shell that a reader of the page has
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("VERDICT           PASS (exit 0)") >= 2
    assert "OVERALL VERDICT   PASS (exit 0)" in ran.stdout
    log = (tmp_path / "copy" / "keys.jsonl").read_text(encoding="utf-8")
    assert re.findall(r'"event":"(\w+)"', log) == ["created"] * 2 + ["rotated"] * 3 + ["revoked"]
    assert "four words" not in (tmp_path / "locked" / "receipts" / "entry.key").read_text(encoding="utf-8")


def test_the_page_names_every_variable() -> None:
    for variable in (name(use) for use in ("entry", "checkpoint") for name in (seed_variable, next_seed_variable)):
        assert f"`{variable}`" in PAGE
