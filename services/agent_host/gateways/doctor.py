"""`agent-host doctor`: what is set up, what is off, and what to do about it.

Settings and files are looked at first and change nothing; then the writer and the servers are asked, as `check` does.
"""

from __future__ import annotations

import hashlib
import json
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from agent_host.errors import HostError
from agent_host.gateways import misconfigurations
from agent_host.gateways.check import look
from agent_host.gateways.finding import Finding
from agent_host.gateways.screen import printable
from agent_host.memory_settings import memory_settings
from agent_host.model_server import look_at_model_server
from agent_host.receipts.verification import waiting
from agent_host.settings import HostSettings, host_settings, require_key, writer_token
from service_runtime.errors import ServiceError
from service_runtime.settings import Settings

VERIFIERS = ("verify.py", "verify.mjs")
_OTHERS = 0o077
_SECRET_FILES = (".env", "SOUL.md", "mcp.json")


async def doctor(settings: Settings, environ: Mapping[str, str], *, as_json: bool) -> int:
    """Prints the findings; returns 0 when nothing is wrong, else 1."""
    findings = list(examine(settings, environ))
    if not any(finding.state == "wrong" for finding in findings):
        findings += [*await _model_server(settings), *await _answers(settings, environ)]
    if as_json:
        sys.stdout.write(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("".join(f"{_row(finding)}\n" for finding in findings))
    return 1 if any(finding.state == "wrong" for finding in findings) else 0


def examine(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Looks at the installation, the settings and the files of the home; starts nothing and changes nothing."""
    yield Finding("version", "ok", f"prometheus-agent {version('prometheus-agent')}, Python {sys.version.split()[0]}")
    yield from misconfigurations.installation()
    yield from misconfigurations.names_and_sources(settings, Path.cwd())
    yield from misconfigurations.log_level(settings)
    yield from _home(settings.home.path)
    yield from misconfigurations.home_state(settings.home.path)
    yield from _model(settings)
    yield from misconfigurations.model_mistakes(settings)
    yield from misconfigurations.servers(settings, environ)
    yield from misconfigurations.skills(settings)
    yield from _elsewhere(settings)
    yield from _verifiers()
    yield from _ledger(settings.home.path)
    yield from misconfigurations.clock(settings.home.path, datetime.now(UTC))
    yield from misconfigurations.here(environ)


def _home(home: Path) -> Iterator[Finding]:
    if not home.exists():
        yield Finding("home", "note", f"{home} does not exist yet; the first conversation makes it.")
        return
    if not home.is_dir():
        yield Finding("home", "wrong", f"{home} is no folder; move it away, or name another with PROMETHEUS_HOME.")
        return
    yield Finding("home", "ok", str(home))
    for path in (home, *(home / name for name in _SECRET_FILES)):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            yield Finding("home", "note", f"{path} can be read by others; run: chmod go-rwx {path}")


def _model(settings: Settings) -> Iterator[Finding]:
    try:
        told: HostSettings = host_settings(settings)
        require_key(told)
        memory_settings(settings, told.provider)
        zone = settings.zone()
    except (HostError, ServiceError) as error:
        yield Finding("model", "wrong", str(error))
        return
    if told.provider == "offline":
        yield Finding(
            "model", "note", f"{told.model}: rules, no LLM; set PROMETHEUS_PROVIDER=anthropic and a key for one."
        )
    else:
        yield Finding("model", "ok", f"{told.model} by {told.answered_by}")
    yield Finding("time zone", "ok", zone.key)


def _elsewhere(settings: Settings) -> Iterator[Finding]:
    """Tells how a writer that runs elsewhere is reached, and never the token."""
    try:
        told, token = host_settings(settings), writer_token(settings)
    except HostError as error:
        if settings.get("WRITER"):
            yield Finding("receipts", "wrong", str(error))
        return
    if told.writer:
        guard = f"TLS, trusting {told.writer_ca}" if told.writer_ca else "no TLS"
        source = "PROMETHEUS_WRITER_TOKEN_FILE" if settings.get("WRITER_TOKEN_FILE") else "PROMETHEUS_WRITER_TOKEN"
        caller = f"the token of {source}" if token else "no token"
        yield Finding("receipts", "ok", f"A writer at {told.writer} signs them: {guard}, {caller}.")
    elif token or told.writer_ca:
        yield Finding("receipts", "note", "PROMETHEUS_WRITER is not set, so its token and certificates are not used.")


def _verifiers() -> Iterator[Finding]:
    """Names the hash of each installed verifier: compare it with the one you were told by somebody you trust."""
    for name in VERIFIERS:
        file = files("verifier") / name
        if file.is_file():
            yield Finding("verifier", "ok", f"{name} SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}")
        else:
            yield Finding(
                "verifier", "wrong", f"{name} is missing from this installation; install prometheus-agent again."
            )


def _ledger(home: Path) -> Iterator[Finding]:
    chains = home / "receipts" / "chains"
    if not chains.is_dir():
        yield Finding("ledger", "note", "No receipts yet; the first turn makes one.")
        return
    torn = sorted(path.name for path in chains.glob("*.torn-*"))
    yield Finding("ledger", "ok", "agent-host receipts verify checks every entry.")
    if torn:
        yield Finding("ledger", "note", f"Unfinished writes were moved aside: {', '.join(torn)}. No entry was in them.")
    queued = waiting(home)
    if queued:
        yield Finding("ledger", "note", f"{queued} receipts wait unsigned for the writer; the next turn sends them.")


async def _model_server(settings: Settings) -> list[Finding]:
    found = await look_at_model_server(host_settings(settings))
    return [Finding("model", *found)] if found else []


async def _answers(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    try:
        health = await look(settings, environ)
    except (HostError, ServiceError) as error:
        return [Finding("servers", "wrong", str(error))]
    writer, tools, *problems = health.lines
    return [
        Finding("writer", "ok" if writer == "writer: ok" else "wrong", writer.removeprefix("writer: ")),
        Finding("servers", "ok", tools),
        *(Finding("servers", "wrong", problem) for problem in problems),
    ]


def _row(finding: Finding) -> str:
    return printable(f"{finding.state:6}{finding.part:11}{finding.text}")
