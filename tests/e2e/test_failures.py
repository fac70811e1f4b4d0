"""What goes wrong on a person's machine: each costs one clear sentence, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import BIN, BUILT_IN, SLOW_SERVER, Person

pytestmark = pytest.mark.slow  # starts many processes

PATIENCE_S = 20.0


def one_sentence(done: subprocess.CompletedProcess[bytes]) -> str:
    """Returns the one line of stderr that an error must be."""
    lines = done.stderr.decode().strip().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in lines[0]
    return lines[0]


def start_chat(person: Person) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(BIN / "agent-host"), "chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=person.folder,
        env=person.environ,
    )


def say(chat: subprocess.Popen[bytes], message: str) -> list[str]:
    """Sends one message and returns what is shown up to its receipt line."""
    assert chat.stdin is not None
    assert chat.stdout is not None
    chat.stdin.write(f"{message}\n".encode())
    chat.stdin.flush()
    shown: list[str] = []
    while not shown or not any(part in shown[-1] for part in (" | receipt ", "unsigned")):
        line = chat.stdout.readline()
        assert line, shown
        shown.append(line.decode().rstrip("\n"))
    return shown


def eventually(condition: Callable[[], bool]) -> bool:
    """Waits, bounded, for something that another process does."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def writer_pid(person: Person) -> int:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command, environ = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
            except OSError:
                continue
            if b"receipt_writer" in command and str(person.home).encode() in environ:
                return int(folder.name)
    raise AssertionError("no receipt writer runs on this home")


def test_bad_messages_cost_a_sentence_each_and_the_conversation_goes_on(person: Person) -> None:
    person.without_tools()
    text = b"\n" + b"x" * 1_000_000 + b"\n\xff\xfe\x00\x01\n/nonsense\nWhat is 2 + 3?\n"

    done = person.run("agent-host", "chat", text=text)

    shown = done.stdout.decode()
    assert done.returncode == 0
    assert done.stderr == b""
    for words in (
        "The message is empty",
        "more than 100,000 characters",
        "not UTF-8",
        "no command /nonsense",
        "receipt 1 signed",
    ):
        assert words in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "nonsense"),
        (("ask",), "message"),
        (("ask", ""), "The message is empty"),
        (("receipts", "show", "7"), "There is no receipt '7'"),
        (("receipts", "show", "t_nothing"), "There is no receipt 't_nothing'"),
        (("receipts", "list", "--limit", "0"), "limit"),
    ],
)
def test_a_wrong_command_is_one_sentence_and_status_2(person: Person, arguments: tuple[str, ...], words: str) -> None:
    done = person.run("agent-host", *arguments)

    assert done.returncode == 2
    assert words in one_sentence(done)


def test_verifying_an_empty_home_says_that_there_is_nothing_yet(person: Person) -> None:
    done = person.run("agent-host", "receipts", "verify")

    assert done.returncode == 2
    assert "holds no receipts yet" in one_sentence(done)


def test_a_home_that_cannot_be_written_is_one_sentence(person: Person) -> None:
    (person.folder / "file").write_text("in the way")

    done = person.run("agent-host", "ask", "hello", PROMETHEUS_HOME=str(person.folder / "file" / "home"))

    assert done.returncode == 2
    assert "PROMETHEUS_HOME" in one_sentence(done)


def test_a_broken_env_file_is_named_with_its_line_and_without_its_value(person: Person) -> None:
    (person.folder / ".env").write_text("PROMETHEUS_PROVIDER=offline\nPROMETHEUS_API_KEY='hunter2\n")

    done = person.run("agent-host", "ask", "hello")

    sentence = one_sentence(done)
    assert done.returncode == 2
    assert ".env line 2" in sentence
    assert "hunter2" not in sentence


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"PROMETHEUS_PROVIDER": "anthropic"}, "PROMETHEUS_API_KEY"),
        ({"PROMETHEUS_PROVIDER": "oracle"}, "offline, anthropic"),
        ({"PROMETHEUS_TIMEZONE": "Mars/Olympus"}, "PROMETHEUS_TIMEZONE"),
        ({"PROMETHEUS_MAX_TOKENS": "lots"}, "PROMETHEUS_MAX_TOKENS"),
        ({"PROMETHEUS_LOG_LEVEL": "loud"}, "log level"),
        ({"PROMETHEUS_MCP_CONFIG": "/nowhere.json"}, "PROMETHEUS_MCP_CONFIG"),
    ],
)
def test_settings_that_cannot_be_used_say_what_to_set(person: Person, environ: dict[str, str], words: str) -> None:
    done = person.run("agent-host", "chat", text=b"hello\n", **environ)

    assert done.returncode == 2
    assert words in one_sentence(done)


def test_a_broken_server_list_is_one_sentence(person: Person) -> None:
    person.home.mkdir()
    (person.home / "mcp.json").write_text('{"mcpServers": {"x": {}')

    done = person.run("agent-host", "ask", "hello")

    assert done.returncode == 2
    assert "mcp.json" in one_sentence(done)


def test_a_server_that_cannot_be_used_is_one_line_and_the_turn_goes_on(person: Person) -> None:
    person.home.mkdir()
    entry = '{"url": "https://a.example/mcp", "token_env": "NOPE_T"}'
    (person.home / "mcp.json").write_text(f'{{"mcpServers": {{"x": {entry}}}}}')

    done = person.run("agent-host", "ask", "hello")

    assert done.returncode == 0
    (line,) = [line for line in done.stdout.decode().splitlines() if line.startswith("!")]
    assert "takes its token from the environment variable NOPE_T, which is not set; set it." in line


def test_a_second_host_on_the_same_home_is_refused_and_told_who_holds_it(person: Person) -> None:
    person.without_tools()
    with start_chat(person) as first:
        say(first, "hello")

        second = person.run("agent-host", "ask", "hello")
        listed = person.run("agent-host", "receipts", "list")
        first.communicate(timeout=PATIENCE_S)

    assert second.returncode == 2
    assert f"process {first.pid}" in one_sentence(second)
    assert listed.returncode == 0  # reading receipts disturbs nobody
    assert b"#1" in listed.stdout


def test_no_process_is_left_behind_at_the_end_of_input(person: Person) -> None:
    person.chat("hello")

    assert eventually(lambda: person.processes() == []), person.processes()


@pytest.mark.parametrize("told", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_no_process_is_left_behind_when_the_host_is_killed(person: Person, told: signal.Signals) -> None:
    if told == signal.SIGHUP:
        person.without_tools()  # as for SIGTERM
    with start_chat(person) as chat:
        say(chat, "hello")
        assert len(person.processes()) > 1

        chat.send_signal(told)
        status = chat.wait(PATIENCE_S)

        assert eventually(lambda: person.processes() == []), person.processes()
    assert status == (-signal.SIGKILL if told == signal.SIGKILL else 128 + signal.SIGTERM)


def test_a_piped_conversation_can_be_quit_while_its_input_stays_open(person: Person) -> None:
    person.without_tools()
    with start_chat(person) as chat:
        say(chat, "What is 2 + 3?")
        assert chat.stdin is not None
        chat.stdin.write(b"/quit\n")
        chat.stdin.flush()
        status = chat.wait(PATIENCE_S)
        error = chat.stderr.read() if chat.stderr else None

    assert (status, error) == (0, b"")


def test_ctrl_c_ends_a_piped_conversation_while_its_input_stays_open(person: Person) -> None:
    person.without_tools()
    with start_chat(person) as chat:
        say(chat, "What is 2 + 3?")
        chat.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):  # where it met the very end of the turn, it counted for that
            chat.wait(5)
        if chat.poll() is None:
            chat.send_signal(signal.SIGINT)
        status = chat.wait(PATIENCE_S)
        error = chat.stderr.read() if chat.stderr else None

    assert (status, error) == (0, b"")


def test_modules_in_the_working_folder_are_never_run(person: Person) -> None:
    for name in ("secrets", "queue", "verifier", "fastmcp"):
        (person.folder / f"{name}.py").write_text(f"open({str(person.folder / 'ran')!r}, 'a').write({name!r})")

    done = person.run("agent-host", "ask", "What is 2 + 3?")
    verified = person.run("agent-host", "receipts", "verify")

    assert b"receipt 1 signed" in done.stdout
    assert verified.returncode == 0
    assert not (person.folder / "ran").exists()


def test_a_writer_killed_between_turns_costs_no_receipt(person: Person) -> None:
    person.without_tools()
    with start_chat(person) as chat:
        say(chat, "hello")
        os.kill(writer_pid(person), signal.SIGKILL)

        shown = say(chat, "hello again")
        chat.communicate(timeout=PATIENCE_S)

    assert "receipt 2 signed" in shown[-1]
    assert person.run("agent-host", "receipts", "verify").returncode == 0


def test_a_writer_that_hangs_leaves_the_receipt_in_the_spool_until_it_can_be_signed(person: Person) -> None:
    person.without_tools()
    with start_chat(person) as chat:
        say(chat, "hello")
        os.kill(writer_pid(person), signal.SIGSTOP)

        queued = say(chat, "What is 2 + 3?")
        os.kill(writer_pid(person), signal.SIGCONT)
        signed = say(chat, "hello again")
        chat.communicate(timeout=PATIENCE_S)

    assert "5" in "\n".join(queued)
    assert "unsigned, queued (1)" in queued[-1]
    assert "receipt 3 signed" in signed[-1]
    turns = (person.home / "receipts/chains/turns.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in turns] == ["replied"] * 3
    assert person.run("agent-host", "receipts", "verify").returncode == 0


def test_a_host_killed_in_a_turn_leaves_an_interrupted_entry(person: Person) -> None:
    script = person.folder / "slow.py"
    script.write_text(SLOW_SERVER)
    person.home.mkdir()
    servers: dict[str, object] = {name: {"disabled": True} for name in BUILT_IN}
    servers["search"] = {"command": str(BIN / "python"), "args": [str(script)], "permissions": "allow"}
    (person.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with start_chat(person) as chat:
        assert chat.stdin is not None
        chat.stdin.write(b"Search the web for slow things\n")
        chat.stdin.flush()
        decisions = person.home / "receipts/chains/decisions.jsonl"
        assert eventually(lambda: decisions.exists() and decisions.read_bytes().count(b"\n") == 1)
        chat.kill()
        chat.wait(PATIENCE_S)
        assert eventually(lambda: person.processes() == [])

    person.chat("hello again")

    turns = (person.home / "receipts/chains/turns.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in turns] == ["interrupted", "replied"]
    assert json.loads(turns[0])["decisions"] == {"n": 1, "firstId": 1, "lastId": 1}
    assert person.run("agent-host", "receipts", "verify").returncode == 0


def test_keys_reach_neither_children_nor_files(person: Person) -> None:
    canary = "canary-0123456789"
    with subprocess.Popen(
        [str(BIN / "agent-host"), "chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=person.folder,
        env={
            **person.environ,
            **dict.fromkeys(("PROMETHEUS_API_KEY", "ANTHROPIC_API_KEY", "PROMETHEUS_WRITER_TOKEN"), canary),
        },
    ) as chat:
        say(chat, "hello")
        environs = [
            (Path("/proc") / folder.name / "environ").read_bytes()
            for folder in Path("/proc").iterdir()
            if folder.name.isdigit() and int(folder.name) != chat.pid and _works_on(folder, person.home)
        ]
        chat.communicate(timeout=PATIENCE_S)

    assert environs
    assert not any(canary.encode() in environ for environ in environs)
    holding = [path for path in person.home.rglob("*") if path.is_file() and canary.encode() in path.read_bytes()]
    assert holding == []


def _works_on(process: Path, home: Path) -> bool:
    try:
        return str(home).encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def test_doctor_finds_a_home_in_order_and_names_what_does_not_answer(person: Person) -> None:
    person.without_tools()
    done = person.run("agent-host", "doctor")
    assert done.returncode == 0, done.stdout.decode()
    assert "ok    writer     ok\n" in done.stdout.decode()
    broken = person.run("agent-host", "doctor", "--json", PROMETHEUS_WRITER="127.0.0.1:1")
    assert broken.returncode == 1
    findings = {one["part"]: one for one in json.loads(broken.stdout)}
    assert findings["writer"]["state"] == "wrong"
    assert findings["writer"]["text"]
