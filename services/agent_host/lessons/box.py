"""The tools by which the agent learns for good, beside those of the servers; a person says yes to every single use.

They write what every later prompt holds, so that no standing answer and no word of `mcp.json` counts here, and where
nobody can be asked nothing is written (agent.md section 4, item 18).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from agent_host.errors import LessonError
from agent_host.lessons.recipes import skill_text
from agent_host.lessons.rules import one_rule, with_rule
from agent_host.mcp_clients.approval import LessonQuestion
from agent_host.mcp_clients.guard import Guard
from agent_host.mcp_clients.protocol import Permission, ToolBox, ToolOutcome
from agent_host.providers.protocol import JsonValue, ToolSpec
from agent_host.skills.loading import SkillFolder
from agent_host.skills.matching import Skill
from agent_host.soul import read_soul
from service_runtime.home import secure_write

SERVER: Final = "local"
UPDATE_SOUL: Final = "update_soul"
CREATE_SKILL: Final = "create_skill"
NAMES: Final = frozenset({UPDATE_SOUL, CREATE_SKILL})
"""Offered in turns that are about learning and in no others, as a model reads every tool at every call (row 75)."""

Arguments: TypeAlias = Mapping[str, JsonValue]
_TEXT: Final[JsonValue] = {"type": "string"}
_SPECS: Final = (
    ToolSpec(
        UPDATE_SOUL,
        "Keep one rule for every later conversation, in SOUL.md. The person is asked first.",
        {"type": "object", "properties": {"rule": _TEXT}, "required": ["rule"], "additionalProperties": False},
    ),
    ToolSpec(
        CREATE_SKILL,
        "Keep a way of working as a skill of its own. The person is asked first.",
        {
            "type": "object",
            "properties": {"name": _TEXT, "description": _TEXT, "body": _TEXT},
            "required": ["name", "description", "body"],
            "additionalProperties": False,
        },
    ),
)


@dataclass(frozen=True)
class _Lesson:
    """What is to be kept: `question` shows all of it, `write` keeps it and `kept` says so."""

    question: LessonQuestion
    write: Callable[[], None]
    kept: str


@dataclass(frozen=True)
class LessonBox:
    """A tool box with two tools more.

    `soul` is SOUL.md, `skills` the person's folder of skills, `known` the skills there are with those that are shipped;
    `unavailable` names tools that are not to be offered.
    """

    inner: ToolBox
    guard: Guard
    soul: Path
    skills: Path
    known: SkillFolder
    unavailable: frozenset[str] = frozenset()

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Returns the tools there are."""
        others = tuple(spec for spec in await self.inner.specs() if spec.name not in NAMES)
        return (*others, *(spec for spec in _SPECS if spec.name not in self.unavailable))

    async def call(self, name: str, arguments: Arguments, meta: Mapping[str, str]) -> ToolOutcome:
        """Calls a tool; one of these two asks the person first."""
        if name not in NAMES or name in self.unavailable:
            return await self.inner.call(name, arguments, meta)
        started = time.monotonic()
        words, decided, failed = await self._learn(name, arguments, meta.get("turn_id", ""))
        elapsed_ms = round(1000 * (time.monotonic() - started))
        return ToolOutcome(SERVER, name, words, None, is_error=failed, duration_ms=elapsed_ms, permission=decided)

    def problems(self) -> tuple[str, ...]:
        """Returns which servers cannot be used."""
        return self.inner.problems()

    async def close(self) -> None:
        """Closes the tool box."""
        await self.inner.close()

    async def _learn(self, name: str, arguments: Arguments, turn_id: str) -> tuple[str, Permission | None, bool]:
        """Returns what the model reads, what was decided, and whether nothing was kept."""
        decided: Permission | None = None
        try:
            after_others = self.guard.read_others_words(turn_id)
            make = self._rule if name == UPDATE_SOUL else self._skill
            lesson = make(arguments, after_others)
            answer = await self.guard.ask(lesson.question)
            decided = Permission(answer == "yes", "untrusted" if after_others else "write", answer)
            if answer != "yes":
                return _refusal(name, unasked=answer == "unasked"), decided, True
            make(arguments, after_others).write()  # made anew: the file may have been edited while the person read
        except LessonError as error:
            return f"{name} kept nothing: {error}", decided, True
        except OSError as error:
            return f"{name} kept nothing: the disk refused ({error.strerror}).", decided, True
        return lesson.kept, decided, False

    def _rule(self, arguments: Arguments, after_others: bool) -> _Lesson:
        rule = one_rule(arguments.get("rule"))
        file = self.soul.resolve()  # one that is a link stays one
        read_soul(file)
        try:
            learned = with_rule(file.read_bytes().decode(), rule)
        except UnicodeDecodeError as error:
            raise LessonError("SOUL.md is not UTF-8; ask the person to save it as UTF-8.") from error
        return _Lesson(
            LessonQuestion("rule", rule, "SOUL.md", after_others),
            lambda: secure_write(file, learned.encode()),
            "The rule is in SOUL.md; it counts from the next turn on.",
        )

    def _skill(self, arguments: Arguments, after_others: bool) -> _Lesson:
        name = arguments.get("name")
        text = skill_text(name, arguments.get("description"), arguments.get("body"))
        file = self.skills / str(name) / "SKILL.md"
        if file.exists() or name in {skill.name for skill in self.known.skills()}:
            raise LessonError(f"There is a skill {name} already, and none is overwritten; take another name.")

        def write() -> None:
            self.skills.mkdir(mode=0o700, exist_ok=True)
            file.parent.mkdir(mode=0o700, exist_ok=True)
            secure_write(file, text.encode())

        return _Lesson(
            LessonQuestion("skill", text, f"skills/{name}/SKILL.md", after_others),
            write,
            f"The skill {name} is kept; it counts from the next message on that it is about.",
        )


def offered(tools: Sequence[ToolSpec], skills: Sequence[Skill]) -> tuple[ToolSpec, ...]:
    """Returns the tools of a turn: these two only with a skill that asks for them."""
    asked_for = {name for skill in skills for name in skill.tools}
    return tuple(tool for tool in tools if tool.name not in NAMES or tool.name in asked_for)


def _refusal(name: str, *, unasked: bool) -> str:
    if unasked:
        return f"{name} kept nothing: it needs the person's yes, and nobody can be asked here; say so."
    return f"{name} kept nothing: the person said no; go on without it, and do not ask for it again in this turn."
