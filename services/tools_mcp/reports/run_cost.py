"""Whether a tile tells what making the report cost, which only `cost_usd` of a source may (agent.md 2.2). Pure.

What things cost is what many reports are about, so words of money count only beside words for this very piece of work.
"""

import re

from tools_mcp.reports.model import Tile

_MONEY = r"\b(?:costs?|costing|spen[dt]|spending|expenses?|charged?|billed)\b"
_WORK = r"(?:run|turn|session|report|research|query)(?![-\w])"
_TOTAL = r"^(?:(?:total|overall|api|model|llm|agent) )?"
_HAS_MONEY = re.compile(_MONEY)
_NOW = re.compile(r"\b(?:this|the current) (?:run|turn|session|query|request|conversation|chat)(?![-\w])")
_SAID = re.compile(
    rf"{_MONEY} (?:of|for|on|to (?:make|write|produce|prepare|generate)) (?:this {_WORK}|the {_WORK}$)"
    rf"|\b(?:this|the) {_WORK}(?:'s)? (?:costs?|spend|expenses?)$"
    rf"|{_TOTAL}{_WORK}(?:'s)? (?:costs?|spend|spending|expenses?)$"
    rf"|{_TOTAL}(?:costs?|spend) (?:of|for) {_WORK}$"
)


def is_about_run_cost(tile: Tile) -> bool:
    """Say whether a tile tells what this run cost: `Spent on this run`, not `Cost per clinical research site`."""
    fields = [" ".join((field or "").casefold().split()) for field in (tile.label, tile.value, tile.note)]
    whole = " / ".join(fields)
    is_now = _HAS_MONEY.search(whole) and _NOW.search(whole)
    return bool(is_now) or any(_SAID.search(field) for field in fields)
