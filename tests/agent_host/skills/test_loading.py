"""Skills from disk: shipped ones, the person's own, and files that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_host.skills.loading import MOST_BYTES, SHIPPED, SkillFolder


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_shipped_skill_is_described_and_short() -> None:
    shipped = SkillFolder((SHIPPED,))

    assert shipped.problems() == ()
    assert [skill.name for skill in shipped.skills()] == ["lessons", "research-report"]
    for skill in shipped.skills():
        assert len(skill.description.split()) >= 5
        assert len(skill.body.splitlines()) <= 80


def test_a_persons_skill_replaces_a_shipped_one_and_an_edit_counts_at_once(tmp_path: Path) -> None:
    path = put(tmp_path, "mine", "---\nname: research-report\ndescription: Mine\n---\nfirst\n")
    skills = SkillFolder((SHIPPED, tmp_path))
    assert [(skill.description, skill.body) for skill in skills.skills()[1:]] == [("Mine", "first")]

    path.write_text("---\nname: research-report\ndescription: Mine\ntriggers: [a  b, 3]\n---\nother\n")
    os.utime(path, ns=(1, 1))
    assert [(skill.body, skill.triggers) for skill in skills.skills()[1:]] == [("other", ("a b", "3"))]

    path.unlink()
    assert "Mine" not in {skill.description for skill in skills.skills()}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no front matter",
        "---\nname: x\n",
        "---\n: [\n---\nbody",
        "---\n- list\n---\nbody",
        "---\nname: Big Name\ndescription: d\n---\nb",
        "---\nname: ok\n---\nb",
        "---\ndescription: d\n---\nb",
        "---\nname: ../x\ndescription: d\n---\nb",
        "---\nname: ok\ndescription: d\n---\n" + "x" * MOST_BYTES,
    ],
)
def test_a_file_that_is_no_skill_is_told_and_stops_nothing(tmp_path: Path, text: str) -> None:
    put(tmp_path, "broken", text)
    put(tmp_path, "good", "---\nname: good\ndescription: Good one\n---\nbody")
    skills = SkillFolder((tmp_path,))

    assert [skill.name for skill in skills.skills()] == ["good"]
    assert len(skills.problems()) == 1
    assert skills.problems()[0].startswith("The skill broken ")


def test_a_folder_that_is_not_there_has_no_skills(tmp_path: Path) -> None:
    assert SkillFolder((tmp_path / "skills",)).skills() == ()
