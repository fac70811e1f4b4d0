"""The memory servers of other people in the benchmark: who is absent is named, and only a scratch home is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evals.bench import memory_basic_memory, memory_peers
from evals.bench.memory_basic_memory import RefusedError, any_of, basic_memory
from evals.bench.memory_peers import Times, Work

NOTES = {"note 0": "The harbour of Porto opens at seven.", "note 1": "Zebras sleep standing up."}


def test_a_question_becomes_any_of_its_words() -> None:
    assert any_of("What's Ana's dog called?") == "What OR s OR Ana OR s OR dog OR called"


@pytest.mark.slow
def test_a_peer_that_is_not_installed_is_named_and_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(memory_basic_memory, "COMMAND", tmp_path / "absent")
    monkeypatch.setattr(memory_peers, "NODE_SERVER", tmp_path / "absent")
    monkeypatch.setattr(memory_peers, "MEM0_PYTHON", tmp_path / "absent")
    memory_peers.print_growth((20,))
    lines = capfd.readouterr().out.splitlines()
    assert "load average" in lines[0]
    assert [line[2:26].strip() for line in lines[1:-1] if "left out" not in line] == [
        "ours, in the service",
        "ours, over MCP",
    ]
    absent = [line for line in lines if "left out" in line]
    assert len(absent) == 3
    assert absent[2].endswith("not installed (make bench-peers; it needs Python 3.12 or newer)")


@pytest.mark.slow
def test_a_peer_that_breaks_off_is_named_with_its_reason_and_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def late(work: Work) -> Times | None:
        raise TimeoutError(f"no answer about {len(work.known)} memories")

    for name in ("server_memory", "mem0"):
        monkeypatch.setattr(memory_peers, name, late)
    monkeypatch.setattr(memory_basic_memory, "LARGEST", 10)
    monkeypatch.setattr(memory_basic_memory, "COMMAND", tmp_path)
    memory_peers.print_growth((20,))
    *_, reference, mem0, basic, done = capfd.readouterr().out.splitlines()
    assert reference.endswith("gave up: no answer about 20 memories")
    assert mem0.endswith("gave up: no answer about 20 memories")
    assert "not waited for" in basic
    assert "load average" in done


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.skipif(not memory_basic_memory.COMMAND.exists(), reason=memory_basic_memory.NOT_INSTALLED)
async def test_basic_memory_knows_what_lay_there_and_what_is_added_and_leaves_its_users_home_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BASIC_MEMORY_CONFIG_DIR", str(tmp_path / "mine"))
    async with basic_memory(NOTES) as peer:
        took_ms, at_once = await peer.add("note 2", "Quinces ripen in October.")
        found = [
            (await peer.search(words))[1] for words in ("porto harbour", "ripen quinces", any_of("zebras or ships?"))
        ]
    assert took_ms > 0
    assert at_once
    assert found == [["note 0"], ["note 2"], ["note 1"]]
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - one look into a small folder


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.skipif(not memory_basic_memory.COMMAND.exists(), reason=memory_basic_memory.NOT_INSTALLED)
async def test_a_note_that_basic_memory_does_not_take_is_no_measurement() -> None:
    async with basic_memory({}) as peer:
        await peer.add("twice", "Once.")
        with pytest.raises(RefusedError, match="write_note: NOTE_ALREADY_EXISTS"):
            await peer.add("twice", "Again.")
