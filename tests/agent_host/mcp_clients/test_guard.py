from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.mcp_clients.approval import Answer, CallQuestion, NobodyToAsk, Question
from agent_host.mcp_clients.guard import Guard, refusal
from agent_host.mcp_clients.protocol import Permission
from agent_host.mcp_clients.remote import RemoteTool
from agent_host.mcp_clients.server_config import ServerConfig
from agent_host.mcp_clients.standing import StandingPermissions
from tests.fakes.approver import ScriptedApprover

FAR = ServerConfig("far", command="far")
MEMORY = ServerConfig("memory", command="memory", builtin=True)
READ = RemoteTool("read", "Reads.", {"type": "object"}, read_only=True)
WRITE = RemoteTool("write", "\nWrites a line.\nAnd more.", {"type": "object"}, read_only=False)
FORGET = RemoteTool("forget", "Deletes for good.", {"type": "object"}, read_only=False, destructive=True)


def _guard(*answers: Answer, path: Path | None = None) -> tuple[Guard, ScriptedApprover]:
    approver = ScriptedApprover(*answers)
    return Guard(approver, StandingPermissions(path)), approver


async def test_reads_and_writes_of_own_stores_are_allowed_without_a_question() -> None:
    guard, approver = _guard()
    assert await guard.decide(FAR, READ, {}, "t_1") == Permission(True, "read_only", None)  # noqa: FBT003
    assert await guard.decide(MEMORY, FORGET, {}, "t_1") == Permission(True, "own_store", None)  # noqa: FBT003
    assert approver.questions == []


@pytest.mark.parametrize(
    ("answer", "granted"), [("yes", True), ("no", False), ("always", True), ("rule", True), ("unasked", False)]
)
async def test_a_write_elsewhere_waits_for_an_answer(answer: Answer, granted: bool) -> None:
    guard, approver = _guard(answer)
    decided = await guard.decide(FAR, WRITE, {"text": "x"}, "t_1")
    assert decided == Permission(granted, "write", answer)
    assert approver.questions == [
        CallQuestion("far", "write", {"text": "x"}, "Writes a line.", builtin=False, destructive=False, reason="write")
    ]


async def test_after_a_no_the_same_call_is_refused_in_that_turn_without_a_question() -> None:
    guard, approver = _guard("no", "yes", "yes")
    told = [await guard.decide(FAR, WRITE, {"text": "x", "at": 1}, "t_1") for _ in range(2)]
    told.append(await guard.decide(FAR, WRITE, {"at": 1, "text": "x"}, "t_1"))
    assert [(one.granted, one.answer) for one in told] == [(False, "no")] * 3
    assert len(approver.questions) == 1
    assert (await guard.decide(FAR, WRITE, {"text": "y", "at": 1}, "t_1")).granted
    assert (await guard.decide(FAR, WRITE, {"text": "x", "at": 1}, "t_2")).granted
    assert len(approver.questions) == 3


async def test_a_question_about_a_destructive_tool_says_what_it_does() -> None:
    guard, approver = _guard("no")
    await guard.decide(FAR, FORGET, {}, "t_1")
    (question,) = approver.questions
    assert isinstance(question, CallQuestion)
    assert (question.destructive, question.does) == (True, "Deletes for good.")


async def test_after_others_words_a_write_of_an_own_store_is_asked_about_in_that_turn_alone() -> None:
    guard, approver = _guard("yes")
    guard.shown_others_words("t_1")
    guard.shown_others_words("")
    assert await guard.decide(MEMORY, WRITE, {}, "t_1") == Permission(True, "untrusted", "yes")  # noqa: FBT003
    assert await guard.decide(MEMORY, WRITE, {}, "t_2") == Permission(True, "own_store", None)  # noqa: FBT003
    assert await guard.decide(MEMORY, WRITE, {}, "") == Permission(True, "own_store", None)  # noqa: FBT003
    assert len(approver.questions) == 1
    assert [guard.read_others_words(turn) for turn in ("t_1", "t_2", "")] == [True, False, False]


async def test_a_call_of_the_hosts_own_is_allowed_after_others_words_too() -> None:
    guard, approver = _guard()
    guard.shown_others_words("t_1")
    assert await guard.decide(MEMORY, WRITE, {}, "t_1", by_host=True) == Permission(True, "by_host", None)  # noqa: FBT003
    assert approver.questions == []
    assert not (await guard.decide(MEMORY, WRITE, {}, "t_1")).granted


async def test_always_holds_over_a_restart_and_after_others_words_but_for_that_very_tool(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    first, _ = _guard("always", path=path)
    await first.decide(FAR, WRITE, {}, "t_1")

    later, approver = _guard(path=path)
    later.shown_others_words("t_2")
    assert await later.decide(FAR, WRITE, {}, "t_2") == Permission(True, "always", None)  # noqa: FBT003
    assert approver.questions == []
    assert not (await later.decide(FAR, replace(WRITE, description="Writes elsewhere."), {}, "t_2")).granted
    assert not (await later.decide(MEMORY, WRITE, {}, "t_2")).granted
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_file_of_answers_that_cannot_be_read_allows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    for text in ("{", "[]", '{"far": "x"}', json.dumps({"far": {"write": True}}), "\xff"):
        path.write_bytes(text.encode("latin-1"))
        guard, approver = _guard(path=path)
        assert not (await guard.decide(FAR, WRITE, {}, "t_1")).granted
        assert len(approver.questions) == 1


async def test_questions_are_put_one_after_another() -> None:
    class Slow:
        is_person = True
        open = most = 0

        async def ask(self, question: Question) -> Answer:  # noqa: ARG002
            self.open += 1
            self.most = max(self.most, self.open)
            for _ in range(5):
                await asyncio.sleep(0)
            self.open -= 1
            return "yes"

    approver = Slow()
    guard = Guard(approver, StandingPermissions(None))
    await asyncio.gather(*(guard.decide(FAR, WRITE, {}, "t_1") for _ in range(4)))
    assert approver.most == 1


async def test_about_a_call_outside_any_turn_nobody_is_asked() -> None:
    guard, approver = _guard("yes")

    assert await guard.decide(FAR, WRITE, {}, "") == Permission(granted=False, reason="write", answer="unasked")
    assert (await guard.decide(MEMORY, WRITE, {}, "")).granted
    assert approver.questions == []


async def test_nobody_to_ask_is_not_told_as_a_persons_no() -> None:
    decided = await Guard(NobodyToAsk(), StandingPermissions(None)).decide(FAR, WRITE, {}, "t_1")
    assert decided.answer == "unasked"
    words = refusal(FAR, "write", decided)
    assert words.startswith("write of far was not called: it needs a yes, and nobody can be asked here")
    assert "the person said no" in refusal(FAR, "write", Permission(granted=False, reason="write", answer="no"))
    assert "mcp.json denies it" in refusal(FAR, "write", Permission(granted=False, reason="tool", answer=None))
