"""kill -9 at any place of a consolidation: every message leaves its fact exactly once."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_host.chat_log import ChatLog

pytestmark = pytest.mark.durability

ROUNDS = 30
EXCHANGES = 8
CHILD = (sys.executable, "-m", "tests.agent_host.consolidation.killed")


def start(folder: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen([*CHILD, str(folder)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
    assert child.stdout is not None
    assert child.stdout.readline() == '"ready"\n'
    return child


def talk(folder: Path, first: int, exchanges: int) -> None:
    log = ChatLog(folder / "sessions.db")
    for number in range(first, first + exchanges):
        log.store("s_1", f"t_{number}", "cli", (f"message {number}", "ok"), at_ms=1)
    log.close()


def test_every_message_leaves_its_fact_exactly_once(tmp_path: Path) -> None:
    draw = random.Random(4711)  # noqa: S311 - where to kill, not a secret
    for turn in range(ROUNDS):
        talk(tmp_path, turn * EXCHANGES, EXCHANGES)
        child = start(tmp_path)
        time.sleep(draw.uniform(0, 0.06))  # anywhere in the run; no outcome depends on where
        child.kill()
        child.communicate()
    talk(tmp_path, ROUNDS * EXCHANGES, EXCHANGES)
    last = start(tmp_path)
    last.communicate(timeout=60)
    assert last.returncode == 0

    memories = sqlite3.connect(tmp_path / "memories.db")
    bodies = sorted(row[0] for row in memories.execute("SELECT body FROM memories"))
    memories.close()
    assert bodies == sorted(f"fact {number}" for number in range((ROUNDS + 1) * EXCHANGES))
