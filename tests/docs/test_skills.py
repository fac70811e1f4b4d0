"""The skill in the how-to is one, and does what is said of it."""

from __future__ import annotations

import re
from pathlib import Path

from agent_host.skills.loading import SkillFolder
from agent_host.skills.matching import matching

ROOT = Path(__file__).parents[2]


def test_the_skill_of_the_how_to_is_chosen_as_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "skills.md").read_text()
    block = re.search(r"```\n(---\n.*?)```", text, re.DOTALL)
    assert block is not None
    (tmp_path / "packing").mkdir()
    (tmp_path / "packing" / "SKILL.md").write_text(block[1])
    skills = SkillFolder((tmp_path,))

    assert skills.problems() == ()
    (skill,) = skills.skills()
    assert matching("Hi! Can you please pack for three days in Rome?", [skill]) == (skill,)
    assert matching("What should I pack?", [skill]) == ()
    assert matching("What should I pack for Rome?", [skill]) == (skill,)
    assert matching("Pack for the invoice run", [skill]) == ()
    assert matching("I packed for Rome", [skill]) == ()
