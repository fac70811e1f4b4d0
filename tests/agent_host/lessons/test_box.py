"""The two tools ask each time, write whole files or nothing, and are there for the messages that want them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_host.gateways.approving import AskApprover, question_text
from agent_host.lessons.box import LessonBox
from agent_host.mcp_clients.approval import Answer, Approver, LessonQuestion, Question
from agent_host.mcp_clients.guard import Guard
from agent_host.mcp_clients.standing import StandingPermissions
from agent_host.providers.protocol import ToolUse
from agent_host.skills.loading import SHIPPED, SkillFolder
from agent_host.soul import DEFAULT
from agent_host.tracing.events import Notice, PermissionDecided
from tests.agent_host.test_turn import Room, room
from tests.fakes.approver import ScriptedApprover
from tests.fakes.scripted_provider import ScriptedProvider, asks, says
from tests.fakes.toolbox import Arguments, FakeToolBox

__all__ = ["room"]

TURN = {"turn_id": "t_1"}
RULE: Arguments = {"rule": "Answer in German."}
PATHS = ("skills", "skills/packing-list", "skills/packing-list/SKILL.md")
LEARN = ToolUse("u_1", "update_soul", RULE)
SKILL: Arguments = {"name": "packing-list", "description": "Packing lists for trips by train", "body": "List by day."}


def _box(home: Path, approver: Approver) -> LessonBox:
    known = SkillFolder((SHIPPED, home / "skills"))
    guard = Guard(approver, StandingPermissions(None))
    return LessonBox(FakeToolBox({"notes_write": lambda _: "ok"}), guard, home / "SOUL.md", home / "skills", known)


async def test_a_yes_keeps_a_rule_and_the_question_shows_all_of_it(tmp_path: Path) -> None:
    approver = ScriptedApprover("yes")
    outcome = await _box(tmp_path, approver).call("update_soul", RULE, TURN)
    assert approver.questions == [LessonQuestion("rule", "Answer in German.", "SOUL.md", after_others=False)]
    assert (outcome.is_error, outcome.content) == (False, "The rule is in SOUL.md; it counts from the next turn on.")
    assert (tmp_path / "SOUL.md").read_text() == f"{DEFAULT}\n## Learned rules\n\n- Answer in German.\n"
    assert outcome.permission is not None
    assert (outcome.permission.granted, outcome.permission.answer) == (True, "yes")


ANSWERS: tuple[Answer, ...] = ("no", "unasked", "always")


@pytest.mark.parametrize("answer", ANSWERS)
async def test_nothing_but_a_plain_yes_keeps_anything(tmp_path: Path, answer: Answer) -> None:
    approver = ScriptedApprover(answer, answer)
    box = _box(tmp_path, approver)
    rule, skill = await box.call("update_soul", RULE, TURN), await box.call("create_skill", SKILL, TURN)
    assert rule.is_error
    assert skill.is_error
    assert len(approver.questions) == 2
    assert (tmp_path / "SOUL.md").read_text() == DEFAULT
    assert not (tmp_path / "skills").exists()


async def test_each_use_is_asked_about_however_often_it_was_answered(tmp_path: Path) -> None:
    approver = ScriptedApprover("yes", "yes")
    box = _box(tmp_path, approver)
    await box.call("update_soul", RULE, TURN)
    await box.call("update_soul", {"rule": "Call me Ada."}, TURN)
    assert len(approver.questions) == 2


async def test_a_skill_is_live_at_once_and_never_overwrites(tmp_path: Path) -> None:
    approver = ScriptedApprover("yes", "yes", "yes")
    box = _box(tmp_path, approver)
    made = await box.call("create_skill", SKILL, TURN)
    again = await box.call("create_skill", {**SKILL, "body": "Other."}, TURN)
    shipped = await box.call("create_skill", {**SKILL, "name": "research-report"}, TURN)
    names = {skill.name: skill.body for skill in box.known.skills()}
    assert made.content.startswith("The skill packing-list is kept")
    assert names["packing-list"] == "List by day."
    assert [(tmp_path / path).stat().st_mode & 0o777 for path in PATHS] == [0o700, 0o700, 0o600]
    assert [again.content, shipped.content] == [
        f"create_skill kept nothing: There is a skill {name} already, and none is overwritten; take another name."
        for name in ("packing-list", "research-report")
    ]
    assert len(approver.questions) == 1  # what could not be kept anyway is not asked about


async def test_after_other_peoples_words_the_question_says_so(tmp_path: Path) -> None:
    approver = ScriptedApprover("no")
    box = _box(tmp_path, approver)
    box.guard.shown_others_words("t_1")
    await box.call("update_soul", RULE, TURN)
    (question,) = approver.questions
    assert isinstance(question, LessonQuestion)
    assert question.after_others
    assert "read what other people wrote" in question_text(question)


def test_the_person_reads_a_whole_skill_however_long() -> None:
    body = "\n".join(f"Step {number}: {'x' * 60}" for number in range(80))
    text = question_text(LessonQuestion("skill", body, "skills/a/SKILL.md", after_others=False))
    assert all(f"  | {line}" in text for line in body.splitlines())
    assert text.startswith("The agent would keep a skill in skills/a/SKILL.md, which joins the prompt of messages")


async def test_ask_talks_with_nobody_and_so_keeps_nothing(tmp_path: Path) -> None:
    outcome = await _box(tmp_path, AskApprover()).call("update_soul", RULE, TURN)
    assert outcome.content == (
        "update_soul kept nothing: it needs the person's yes, and nobody can be asked here; say so."
    )


async def test_an_edit_made_while_the_person_reads_is_kept(tmp_path: Path) -> None:
    class Editing(ScriptedApprover):
        async def ask(self, question: Question) -> Answer:
            (tmp_path / "SOUL.md").write_text("Mine.\n")
            return await super().ask(question)

    await _box(tmp_path, Editing("yes")).call("update_soul", RULE, TURN)
    assert (tmp_path / "SOUL.md").read_text() == "Mine.\n\n## Learned rules\n\n- Answer in German.\n"


async def test_a_linked_soul_stays_a_link_and_a_broken_one_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("Mine.\n")
    (tmp_path / "SOUL.md").symlink_to("real.md")
    await _box(tmp_path, ScriptedApprover("yes")).call("update_soul", RULE, TURN)
    assert (tmp_path / "SOUL.md").is_symlink()
    assert "German" in (tmp_path / "real.md").read_text()
    (tmp_path / "real.md").write_bytes(b"\xff")
    broken = await _box(tmp_path, ScriptedApprover("yes")).call("update_soul", RULE, TURN)
    assert "SOUL.md is not UTF-8" in broken.content
    assert (tmp_path / "real.md").read_bytes() == b"\xff"


async def test_a_disk_that_refuses_is_said(tmp_path: Path) -> None:
    (tmp_path / "skills").write_text("in the way")
    outcome = await _box(tmp_path, ScriptedApprover("yes")).call("create_skill", SKILL, TURN)
    assert outcome.is_error
    assert outcome.content.startswith("create_skill kept nothing: the disk refused (")


async def test_only_a_message_about_learning_is_offered_the_tools(room: Room) -> None:
    approver = ScriptedApprover("yes")
    room.tools = _box(room.folder, approver)  # type: ignore[assignment]
    room.skills = SkillFolder((SHIPPED,))
    plain = ScriptedProvider(says("hi"))
    await room.turn(plain, "Which day is it?")
    learns = ScriptedProvider(asks(LEARN), says("Gern."))
    await room.turn(learns, "From now on answer in German, please.")
    offered = [[tool.name for tool in one.requests[0].tools] for one in (plain, learns)]
    assert offered == [["notes_write"], ["notes_write", "update_soul", "create_skill"]]
    assert "A rule about how you answer" in learns.requests[0].system
    assert "- Answer in German." in (room.folder / "SOUL.md").read_text()
    assert [event.permission.reason for event in room.events if isinstance(event, PermissionDecided)] == ["write"]


async def test_what_could_not_be_asked_is_a_notice_of_the_turn(room: Room) -> None:
    room.tools = _box(room.folder, AskApprover())  # type: ignore[assignment]
    room.skills = SkillFolder((SHIPPED,))
    await room.turn(ScriptedProvider(asks(LEARN), says("No.")), "From now on answer in German.")
    assert any(isinstance(event, Notice) and "update_soul kept nothing" in event.text for event in room.events)


async def test_a_tool_that_the_person_does_not_want_is_not_there(tmp_path: Path) -> None:
    made = _box(tmp_path, ScriptedApprover("yes"))
    box = LessonBox(made.inner, made.guard, made.soul, made.skills, made.known, frozenset({"update_soul"}))
    assert [spec.name for spec in await box.specs()] == ["notes_write", "create_skill"]
    assert (await box.call("update_soul", RULE, TURN)).content.startswith("There is no tool named update_soul")
