"""`one_report`: a research turn leaves exactly one saved report."""

from __future__ import annotations

from agent_host.report_digest import MARKER, report_in
from agent_host.tracing.traced_turn import TracedTool, TracedTurn
from agent_host.turn_checks.prose import any_of
from agent_host.turn_checks.verdict import Finding, failed, not_applicable, passed

RESEARCH = "research-report"
_MEMORY = "memory"
_NOT = (
    r"(?:don't|do not|never)(?: want| need| write| make| save| produce| create| send| do| give)?(?: me| us| up| out)?"
)
_NO_REPORT = any_of(
    r"(?:no|without(?: an?| any| the)?|skip(?: the| any)?|no need for an?) (?:\w+ )?reports?",
    rf"{_NOT}(?: an?| any| the)? (?:\w+ )?reports?",
    r"(?:keinen?|ohne(?: einen)?) \w*bericht",
)


def one_report(turn: TracedTurn) -> Finding:
    """Counts the reports a turn saved; two are wrong in any turn, whoever saved them."""
    saved = max(turn.reports, sum(map(_saves_a_report, turn.tools)))
    if saved > 1:
        return failed(f"{saved} reports were saved")
    if RESEARCH not in turn.skills:
        old = turn.is_old and not turn.skills
        return not_applicable("an old trace, which does not say what the turn was about" if old else "no research turn")
    if turn.outcome != "replied":
        return not_applicable("the turn did not come to a reply")
    if _NO_REPORT.search(turn.message):
        return (
            failed("a report was saved although the message asks for none")
            if saved
            else not_applicable("the message asks for no report")
        )
    return passed("one report was saved") if saved else _without(turn)


def _without(turn: TracedTurn) -> Finding:
    """Says what it means that a research turn saved nothing."""
    if all(call.provider == "offline" for call in turn.calls):
        return not_applicable("the offline rules write no reports")
    if report_in(turn.reply) is not None:
        if any(tool.source == _MEMORY for tool in turn.tools):
            return failed("the report in the reply was not saved")
        return passed("the reply holds the report, and no memory server is there to save it")
    worked = [tool for tool in turn.tools if tool.ok]
    found = turn.known or any(tool.results for tool in worked)
    if found and all(tool.source == _MEMORY for tool in worked):
        return not_applicable("it was answered from memory alone")
    return failed("a research turn without a report")


def _saves_a_report(tool: TracedTool) -> bool:
    """Tells whether a call stored a report as a new memory."""
    return (
        tool.ok is not False
        and tool.span == "memory_write"
        and MARKER in tool.args
        and '"deduped":true' not in tool.output.replace(" ", "")
    )
