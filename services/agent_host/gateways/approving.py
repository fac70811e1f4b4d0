"""Who says yes to a tool call: a person at a terminal, or the rule of `agent-host ask`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from agent_host.gateways.screen import Screen
from agent_host.mcp_clients.approval import Answer, CallQuestion, LessonQuestion, Question, ToolsQuestion
from agent_host.mcp_clients.tool_changes import in_short
from agent_host.tracing.redaction import redact

ARGUMENTS_SHOWN: Final = 600
_WORDS: Final[dict[str, Answer]] = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "a": "always", "always": "always"}
_ASK_MAY_ADD_TO: Final = frozenset({"memory", "notes", "calendar"})

_AFTER_OTHERS: Final = "This conversation has read what other people wrote, which may be what asks for it."

ReadLine: TypeAlias = "Callable[[str], Awaitable[str | None]]"
"""Shows a prompt and returns what was typed; None when the person pressed Ctrl-C or Ctrl-D."""


class TerminalApprover:
    """Puts a question on the screen until it is answered; Ctrl-C and Ctrl-D are a no."""

    is_person: Final = True

    def __init__(self, screen: Screen, read_line: ReadLine) -> None:
        self._screen = screen
        self._read_line = read_line

    async def ask(self, question: Question) -> Answer:
        """Returns the person's answer."""
        is_call = isinstance(question, CallQuestion)
        prompt = "y(es), n(o) or always > " if is_call else "y(es) or n(o) > "
        with self._screen.held():
            self._screen.say(f"\n{question_text(question)}")
            while (typed := await self._read_line(prompt)) is not None:
                answer = _WORDS.get(typed.strip().lower())
                if answer is not None and (is_call or answer != "always"):
                    return answer
        return "no"


class AskApprover:
    """The rule of `agent-host ask`, which talks with nobody: after other people's words it may add to some own stores.

    What `mcp.json` says is to be asked about a person wants to be asked about, and what those words may have had
    deleted is gone: no rule answers either (agent.md section 4, item 18).
    """

    is_person: Final = False

    async def ask(self, question: Question) -> Answer:
        """Returns `rule` for an addition to memory, notes or calendar, and `unasked` for all else, at once."""
        if not isinstance(question, CallQuestion) or question.reason != "untrusted" or question.destructive:
            return "unasked"
        return "rule" if question.builtin and question.server in _ASK_MAY_ADD_TO else "unasked"


def question_text(question: Question) -> str:
    """Returns a question as a person reads it: who wants what, why it is asked, and with which arguments."""
    if isinstance(question, LessonQuestion):
        return _lesson_text(question)
    if isinstance(question, ToolsQuestion):
        changed = in_short(question.lines, f"agent-host mcp diff {question.server}")
        about = f"The server {question.server} changed its tools ({question.change})."
        return "\n".join(part for part in (about, changed, "Use them as they are now?") if part)
    lines = [f"{question.server} is to run {question.tool}: {question.does or 'it does not say what that does'}"]
    if question.destructive:
        lines.append("It may delete or overwrite what is there.")
    if question.reason == "untrusted":
        lines.append(_AFTER_OTHERS)
    arguments = json.dumps(redact(question.arguments), ensure_ascii=False)
    cut = f"{arguments[:ARGUMENTS_SHOWN]}… ({len(arguments):,} characters)"
    lines.append(f"With: {arguments if len(arguments) <= ARGUMENTS_SHOWN else cut}")
    return "\n".join(lines)


def _lesson_text(question: LessonQuestion) -> str:
    """Returns all that would be kept: what is not shown could say anything, and stays in every later prompt."""
    warning = f"\n{_AFTER_OTHERS}" * question.after_others
    text = "\n".join(f"  | {line}" for line in question.text.splitlines())
    use = "is part of every later prompt" if question.kind == "rule" else "joins the prompt of messages it is about"
    return f"The agent would keep a {question.kind} in {question.where}, which {use}:{warning}\n{text}"
