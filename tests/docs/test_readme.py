"""The README and its neighbours say what is so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
README = (ROOT / "README.md").read_text()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "verifier").glob("*.md")])
OUR_COMMANDS = ("agent-host", "memory-mcp", "tools-mcp", "receipt-writer", "receipt-verify")


def shell_lines() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    return [line.split("#", 1)[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def test_the_readme_is_short_and_comes_to_its_first_command_early() -> None:
    lines = README.splitlines()

    assert len(lines) <= 130
    assert lines.index("make chat") < 25


def test_the_readme_says_early_what_it_is_not() -> None:
    assert "Not the Prometheus monitoring system" in "\n".join(README.splitlines()[:12])


@pytest.mark.parametrize("line", [line for line in shell_lines() if line.split()[0].split("/")[-1] in OUR_COMMANDS])
def test_every_command_of_ours_in_the_readme_is_understood(line: str) -> None:
    words = re.findall(r'"[^"]*"|\S+', line)
    command = words[0].split("/")[-1]
    subcommands = [word for word in words[1:] if re.fullmatch(r"[a-z]+", word)]
    options = [word for word in words[1:] if word.startswith("--")]

    shown = subprocess.run([BIN / command, *subcommands, "--help"], capture_output=True, text=True, check=True).stdout

    assert [option for option in options if option not in shown] == []


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"\bmake ([a-z-]+)", README + (ROOT / "CONTRIBUTING.md").read_text())))
)
def test_every_make_target_named_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_of_ours_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]

    assert missing == []


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTEXT.md", "CONTRIBUTING.md"])
def test_every_path_named_in_backticks_exists(document: str) -> None:
    named = re.findall(
        r"`((?:services|protos|verifier|tests|docs|evals|packaging)/[^`\s]*)`", (ROOT / document).read_text()
    )
    missing = [path for path in named if not (ROOT / path).exists()]

    assert named
    assert missing == []


def test_the_claude_desktop_block_is_valid_and_names_installed_commands() -> None:
    block = re.search(r"```json\n(.*?)```", README, flags=re.DOTALL)
    assert block is not None
    servers = json.loads(block[1])["mcpServers"]

    for server in servers.values():
        command = BIN / Path(server["command"]).name
        done = subprocess.run(
            [command, *server.get("args", []), "--version"], capture_output=True, text=True, check=True
        )
        assert "0.1.0" in done.stdout


def test_every_setting_named_in_the_readme_is_read_somewhere() -> None:
    paragraph = README.split("Settings are", 1)[1].split("\n\n", 1)[0]
    names = re.findall(r"`([A-Z][A-Z_]+)`", paragraph)
    code = "\n".join(path.read_text() for path in (ROOT / "services").rglob("*.py"))

    assert len(names) >= 8
    assert [name for name in names if f'"{name}"' not in code and f"PROMETHEUS_{name}" not in code] == []


HELP = """
import contextlib, importlib, sys
module = importlib.import_module(sys.argv[1])
del sys.argv[1]
with contextlib.suppress(SystemExit):
    module.main()
heavy = {"mcp", "fastmcp", "anthropic", "openai", "grpc", "dateparser"} & set(sys.modules)
sys.exit(f"imports {heavy}" if heavy else 0)
"""


@pytest.mark.parametrize(
    "words",
    [
        ("agent_host.__main__",),
        ("agent_host.__main__", "ask"),
        ("memory_mcp.__main__",),
        ("tools_mcp.__main__",),
        ("tools_mcp.__main__", "calendar"),
        ("receipt_writer.__main__",),
        ("receipt_writer.__main__", "serve"),
        ("verifier.verify",),
    ],
)
def test_help_imports_no_sdk(words: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", HELP, *words, "--help"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout.lower()
