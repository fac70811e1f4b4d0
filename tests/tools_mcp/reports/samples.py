"""A report that keeps every rule, and ways to bend it."""

from __future__ import annotations

import json
from typing import Any

MARKER = "<!-- prometheus-report v1 -->"

METRICS: list[dict[str, Any]] = [
    {"label": "Heat pumps sold", "value": "3.0 M units", "note": "Europe, 2024"},
    {"label": "Median price", "value": "€ 11,400", "note": "installed, Germany, 2025"},
    {"label": "Payback", "value": "9 years", "note": "against gas, 2025"},
]
BARS: dict[str, Any] = {
    "type": "bar",
    "title": "Units sold by country, 2024",
    "unit": "thousand units",
    "series": [
        {"label": "France", "value": 620},
        {"label": "Italy", "value": 430.5},
        {"label": "Germany", "value": 193},
        {"label": "The United Kingdom of Great Britain", "value": 98},
    ],
}
LINE: dict[str, Any] = {
    "type": "line",
    "title": "Average price of a kilowatt hour",
    "unit": "ct",
    "series": [
        {"label": str(year), "value": value}
        for year, value in zip(range(2017, 2026), (29, 29, 30, 31, 32, 37, 46, 40, 39), strict=True)
    ],
}
COMPARE: dict[str, Any] = {
    "columns": ["Air to water", "Ground source"],
    "rows": [
        {"name": "Needs a borehole", "cells": [False, True]},
        {"name": "Seasonal efficiency", "cells": ["3.2", "4.1"]},
        {"name": "Grant of 30 %", "cells": [True, None]},
    ],
}
TIMELINE: list[dict[str, Any]] = [
    {"date": "2025-03-14", "event": "The grant was extended to landlords", "subject": "Germany"},
    {"date": "2024-01", "event": "The new heating law took effect"},
]
SOURCES: list[dict[str, Any]] = [
    {"title": "Market report 2025", "url": "https://example.org/market?year=2025", "via": "search:search_web"},
    {"title": "What we found in May", "via": "memory", "cost_usd": 0.002},
]

TABLE = """| Finding | Why it matters |
|---|---|
| Sales fell | *Subsidies* changed |
| Gas is cheap | [Tariffs](https://example.org/t) |"""

FETCHED = [SOURCES[0]["url"], "https://example.org/t"]
"""Every address that the report names."""

RUN_COST_TILES: dict[tuple[str, str, str], bool] = {
    ("Cost of this run", "$0.31", ""): True,
    ("Spent on this run", "$0.12", ""): True,
    ("Total cost", "$0.30 for this run", ""): True,
    ("API spend", "$0.20", "this session"): True,
    ("Run cost", "$0.31", ""): True,
    ("Total", "$1", "what the research cost"): True,
    ("Total", "$1", "cost of the run"): True,
    ("Report's cost", "$1", ""): True,
    ("Cost to write this report", "$1", ""): True,
    ("Research and development costs", "$4.2 bn", "2024"): False,
    ("Cost per clinical research site", "$1 M", "2024"): False,
    ("Annual report filing cost", "$500", "2024"): False,
    ("Sources read in this run", "12", ""): False,
    ("Public spending on the research of batteries", "€ 2 bn", "2024"): False,
    ("Revenue", "$4.2 bn", "not found in this report"): False,
    ("Spending in the run-up to 2024", "$3 M", ""): False,
    ("Cost of a heat pump", "€ 11,400", "2025"): False,
}
"""Label, value and note, and whether they tell what making the report cost."""


def fence(name: str, value: object) -> str:
    """Return a block; text is taken as it is, everything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
    return f"```prometheus-{name}\n{text}\n```"


def sections(**changes: str | None) -> dict[str, str]:
    """Return the sections of a whole report by name; None leaves one out."""
    whole: dict[str, str | None] = {
        "Summary": "- Sales fell by 22 % in 2024.\n- Prices are flat.\n- Grants decide what is bought.",
        "Findings": TABLE,
        "Comparison": fence("compare", COMPARE),
        "Numbers": f"{fence('metrics', METRICS)}\n\n{fence('chart', BARS)}\n\n{fence('chart', LINE)}",
        "Timeline": fence("timeline", TIMELINE),
        "Gaps": "Prices outside the EU were not looked at.",
        "Sources": fence("sources", SOURCES),
    }
    return {name: text for name, text in (whole | changes).items() if text is not None}


def report(title: str = "# Heat pumps in Europe", **changes: str | None) -> str:
    """Return a whole report; `changes` replace sections by name."""
    body = "\n\n".join(f"## {name}\n{text}" for name, text in sections(**changes).items())
    return f"{MARKER}\n{title}\n\n{body}\n"
