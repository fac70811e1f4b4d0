"""A report in few words: what a later turn reads instead of the whole (agent.md row 53)."""

from tools_mcp.reports.model import Metrics, Report
from tools_mcp.reports.run_cost import is_about_run_cost

MOST_CHARACTERS = 1_500


def digest(report: Report) -> str:
    """Return title, summary and tiles in at most 1,500 characters; a tile about what the run cost is left out."""
    lines = [report.title, *(f"- {bullet}" for bullet in report.summary)]
    for block in report.blocks():
        if isinstance(block.value, Metrics):
            told = (tile for tile in block.value.tiles if not is_about_run_cost(tile))
            lines += [f"{tile.label}: {tile.value}" + (f" ({tile.note})" if tile.note else "") for tile in told]
    text = "\n".join(lines)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1].rstrip() + "…"
