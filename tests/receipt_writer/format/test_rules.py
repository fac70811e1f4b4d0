"""The norm, the code and the tests name the same rules, and the norm's example is a real line."""

from __future__ import annotations

import re
from pathlib import Path

import receipt_writer.format
from receipt_writer.format.entry import parse_line
from receipt_writer.format.merkle import leaf_hash
from tests.receipt_writer.format.material import ORIGIN, ROOT, vector, vector_json, vector_lines

PAGE = (ROOT / "docs" / "receipt-format.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
RULES = re.findall(r"^\*\*(RF-[0-9]+)\b", PAGE, flags=re.MULTILINE)
SOURCES = sorted(Path(receipt_writer.format.__file__).parent.glob("*.py"))
TESTS = sorted(Path(__file__).parents[1].rglob("test_*.py"))


def rules_named_in(files: list[Path]) -> set[str]:
    return {rule for file in files for rule in re.findall(r"RF-[0-9]+", file.read_text(encoding="utf-8"))}


def test_rules_are_numbered_in_the_order_they_are_read() -> None:
    assert [f"RF-{number}" for number in range(1, len(RULES) + 1)] == RULES


def test_every_rule_has_a_test_and_every_rule_named_in_a_test_exists() -> None:
    assert rules_named_in([file for file in TESTS if file != Path(__file__)]) == set(RULES)


def test_the_code_names_only_rules_that_exist() -> None:
    assert rules_named_in(SOURCES) <= set(RULES)


def test_every_rule_named_on_the_page_exists() -> None:
    assert set(re.findall(r"RF-[0-9]+", PAGE)) == set(RULES)


def test_the_pages_example_is_the_first_golden_line() -> None:
    line = vector_lines("golden.jsonl")[0]
    entry = parse_line("L12", line)
    assert f"```json\n{line.decode()}\n```" in PAGE
    assert f"{len(line):,} bytes and one line break" in PROSE
    assert f"{len(entry.body)} bytes. Its SHA-256" in PROSE
    assert f"signed {len(entry.signed_bytes)} bytes that begin" in PROSE
    assert f"`{entry.signed_bytes[:114].decode()}` and end with the body" in PROSE
    assert leaf_hash(line).hex() in PAGE
    assert vector_json("basics.json")["genesis"][ORIGIN] in PAGE


def test_the_pages_checkpoint_is_the_golden_one() -> None:
    assert f"```\n{vector('golden.checkpoint').decode()}```" in PAGE
