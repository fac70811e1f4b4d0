"""docs/how-to/constrained-calls.md, followed as it stands: its spec, its programs, its commands."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_host.constrained.spec_rules import FALLBACKS
from agent_host.identifiers import new_call_id
from tests.agent_host.constrained.parts import Desk
from tests.fakes.scripted_provider import ScriptedProvider, says

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
PAGE = (ROOT / "docs" / "how-to" / "constrained-calls.md").read_text()
COMMANDS = "".join(re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)).splitlines()


def block(language: str, number: int = 0) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    return found[number]


def run(folder: Path, line: str, status: int = 0) -> str:
    program, *words = shlex.split(line)
    environ = {"PROMETHEUS_HOME": str(folder / "home"), "PATH": str(BIN)}
    done = subprocess.run(
        [BIN / program, *words], env=environ, cwd=folder, capture_output=True, text=True, check=False, timeout=50
    )
    assert (done.returncode, done.stderr) == (status, ""), line
    return done.stdout


@pytest.mark.slow
def test_the_page_can_be_followed_from_its_spec_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "mood-reader.yaml").write_text(block("yaml"))
    (tmp_path / "ask.py").write_text(block("python"))
    default, state, *_ = run(tmp_path, block("sh status=1").strip(), status=1).splitlines()
    assert (json.loads(default)["mood"], state.split()[0][:8]) == ("unknown", "fallback")
    first, *others = COMMANDS
    call_id, state, mood = run(tmp_path, first).split()
    assert (state.startswith("fallback"), mood) == (True, "unknown")

    (spec_hash,) = (row["specHash"] for row in json.loads(run(tmp_path, "agent-host specs list --json")))
    said = [run(tmp_path, line.replace("CALL", call_id).replace("HASH", spec_hash)) for line in others]
    listed, amended, specs, shown, replayed, revealed, as_json, forgotten = said
    assert f"{call_id}  mood-reader" in listed
    assert amended.splitlines() == [f"{call_id}: amended.", f"review 1 signed, of {call_id}"]
    assert specs.split()[2:] == ["mood-reader", "offline/offline-rules", spec_hash]
    assert hashlib.sha256(shown.encode()).hexdigest() == spec_hash
    assert replayed.splitlines()[-1] == "The same."
    assert '{"message":"What a day!"}' in revealed
    assert '"commitment": "hmac-sha256"' in as_json
    assert forgotten.startswith(f"Forgot {call_id}.")
    assert run(tmp_path, "agent-host receipts verify").splitlines()[-1].startswith("VERDICT PASS: ")


async def test_the_python_spec_of_the_page_is_reviewed_at_once_and_idempotent(desk: Desk) -> None:
    names: dict[str, Any] = {}
    exec(block("python", 1), names)  # noqa: S102  # the page's own code
    identity = names["SPEC"].model_identity

    class Haiku(ScriptedProvider):
        @property
        def identity(self) -> Any:
            return identity

    options = desk.options(Haiku(says('{"title": "Tea"}'), says('{"title": "Tea with Ana"}')))
    call_id = new_call_id()
    short = await names["title"]("Buy tea", options, call_id)
    again = await names["title"]("Buy tea", options, call_id)
    long = await names["title"]("Buy tea", options, new_call_id())

    assert (short.exit_state, short.output) == ("ok_amended", {"title": "Buy tea"})
    assert again == short
    assert (long.exit_state, long.output) == ("ok", {"title": "Tea with Ana"})


def test_the_page_names_every_behaviour_of_a_spec() -> None:
    assert [word for word in FALLBACKS if f"`{word}`" not in PAGE] == []
