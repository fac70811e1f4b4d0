"""docs/how-to/memory.md: every command in it works as it stands."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memory_mcp.storage.sqlite import FILE_NAME
from tests.memory_mcp.world import opened

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "memory.md").read_text()
COMMANDS = [
    line.strip()
    for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
    if line.strip() and not line.startswith("pip ")
]


@pytest.mark.slow  # starts a process per command
def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    (home / "memory").mkdir(parents=True)
    (here / "notes").mkdir(parents=True)
    (here / "notes" / "list.md").write_text("- Oslo has trams\n")
    entity = {"type": "entity", "name": "Bo", "entityType": "person", "observations": ["leads"]}
    (here / "old-memory.jsonl").write_text(json.dumps(entity) + "\n")
    with opened(home / "memory") as world:
        memory_id = world.stored("The code is 4711.").id
    base = {name: value for name, value in os.environ.items() if not name.startswith("PROMETHEUS_")}
    environ = base | {"PROMETHEUS_HOME": str(home), "HOME": str(tmp_path)}
    said = {}
    for command in COMMANDS:
        program, *words = shlex.split(command.replace("MEMORY_ID", memory_id))
        done = subprocess.run(
            [Path(sys.executable).parent / program, *words],
            cwd=here,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        said[command] = done.stdout

    assert len(COMMANDS) > 15
    assert "Imported as reference: 1 new" in said["memory-mcp import old-memory.jsonl"]
    assert said["memory-mcp salvage"] == "The memory store is good; there is nothing to salvage.\n"
    assert "/bin/memory-mcp" in said["agent-host install claude-desktop --server memory --dry-run"]
    assert {path.name for path in here.iterdir()} >= {"backup.jsonl", "backup.zip", "backup-folder"}
    assert b"4711" not in (home / "memory" / FILE_NAME).read_bytes()
    assert not (tmp_path / ".cursor").exists()


def test_every_format_the_page_names_can_be_imported() -> None:
    from memory_mcp.transfer.reading import READERS

    rows = [line.split("|")[2] for line in PAGE.splitlines() if line.startswith("| ") and "--format" not in line]

    assert {name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row)} == set(READERS)


def test_the_block_of_the_page_is_valid() -> None:
    block = re.search(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    assert block is not None
    assert list(json.loads(block[1])["mcpServers"]) == ["memory"]


def test_every_setting_the_page_names_is_read() -> None:
    code = (ROOT / "services" / "memory_mcp" / "app.py").read_text()

    names = set(re.findall(r"PROMETHEUS_([A-Z_]+)", PAGE))
    assert names == {"MEMORY_IMPORT_FOLDER", "MEMORY_MIRROR"}
    assert all(f'"{name}"' in code for name in names)
