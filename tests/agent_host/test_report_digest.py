"""A report is found by its marker alone, and its digest stays short."""

from __future__ import annotations

import json

import pytest

from agent_host.report_digest import DEFAULT_TITLE, DIGEST_CHARACTERS, MARKER, report_digest, report_in, report_title
from tests.tools_mcp.reports.samples import RUN_COST_TILES


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (f"Words.\n\n  {MARKER}  \n# T", f"  {MARKER}  \n# T"),
        (f"{MARKER}\n# T\n{MARKER}", f"{MARKER}\n# T\n{MARKER}"),
        (f"see {MARKER}\n# T", None),
        (f"```\n{MARKER}\n# T\n```", None),
        (f"~~~~ text\n```\n{MARKER}\n~~~\n{MARKER}", None),
        (f"```a```\n{MARKER}", MARKER),
        ("", None),
    ],
)
def test_a_marker_counts_alone_on_its_line_and_outside_code(text: str, report: str | None) -> None:
    assert report_in(text) == report


def test_a_title_is_the_first_heading_outside_code() -> None:
    assert report_title(f"{MARKER}\n```\n# no\n```\n# Yes\n# later") == "Yes"
    assert report_title(f"{MARKER}\n#none\n# ") == DEFAULT_TITLE


@pytest.mark.parametrize("block", ["[{]", "{}", '[1, {"label": "only"}]', "[" * 100_000, ""])
def test_a_broken_block_of_tiles_gives_none(block: str) -> None:
    assert report_digest(f"{MARKER}\n# T\n```prometheus-metrics\n{block}\n```") == "T"


def test_a_long_report_keeps_to_1_500_characters() -> None:
    text = report_digest(f"{MARKER}\n# T\n## Summary\n" + f"- {'word ' * 200}\n" * 9 + "## Findings\n- not this one")

    assert len(text) <= DIGEST_CHARACTERS
    assert text.endswith("…")


def test_only_the_bullets_of_the_summary_count() -> None:
    assert report_digest(f"{MARKER}\n# T\n## summary\n* a\ntext\n## Gaps\n- b\n```\n- c\n```") == "T\n- a"


@pytest.mark.parametrize(("label", "value", "note"), RUN_COST_TILES)
def test_a_tile_about_the_run_is_left_out_as_the_reports_server_rules_it(label: str, value: str, note: str) -> None:
    tiles = json.dumps([{"label": label, "value": value, "note": note}])
    told = report_digest(f"{MARKER}\n# T\n```prometheus-metrics\n{tiles}\n```")
    assert (told == "T") is RUN_COST_TILES[label, value, note]


def test_a_summary_whose_heading_is_closed_is_one() -> None:
    assert report_digest(f"{MARKER}\n# #1 in Europe\n## Summary ##\n- a") == "#1 in Europe\n- a"
