"""Skills from disk: `SKILL.md` files with front matter, the shipped ones and the person's own in `<home>/skills`.

A file is read again when its time or size changes, so an edit counts from the next turn on (agent.md 2.8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_host.skills.matching import Skill

SHIPPED = Path(__file__).parent / "builtin"
MOST_BYTES = 64_000
"""The largest skill that is read."""

_HEADER = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*\r?\n(?P<body>.*)\Z", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,40}")

_Stamp = tuple[int, int]


@dataclass
class SkillFolder:
    """The skills of some folders, each in a folder of its own; a later folder's skill replaces an earlier one's."""

    folders: tuple[Path, ...]
    _known: dict[Path, tuple[_Stamp, Skill | str]] = field(default_factory=dict, repr=False)

    def skills(self) -> tuple[Skill, ...]:
        """Returns the skills that can be used, by name."""
        found = {one.name: one for one in self._read() if isinstance(one, Skill)}
        return tuple(found[name] for name in sorted(found))

    def problems(self) -> tuple[str, ...]:
        """Returns one sentence for each file that is no skill, with what to write instead."""
        return tuple(one for one in self._read() if isinstance(one, str))

    def _read(self) -> list[Skill | str]:
        found: list[Skill | str] = []
        for folder in self.folders:
            for path in sorted(folder.glob("*/SKILL.md")):
                try:
                    status = path.stat()
                    stamp = (status.st_mtime_ns, status.st_size)
                    if self._known.get(path, (None, ""))[0] != stamp:
                        self._known[path] = (stamp, _skill(path))
                except OSError as error:
                    found.append(f"The skill {path.parent.name} cannot be read: {(error.strerror or 'no').lower()}.")
                    continue
                found.append(self._known[path][1])
        return found


def _skill(path: Path) -> Skill | str:
    """Returns the skill in a file, or the sentence that says why it holds none.

    Raises:
        OSError: the file cannot be read.
    """
    if path.stat().st_size > MOST_BYTES:
        return f"The skill {path.parent.name} has more than {MOST_BYTES} bytes; keep its SKILL.md short."
    return skill_in(path.read_text(encoding="utf-8", errors="replace"), path.parent.name)


def skill_in(text: str, folder: str) -> Skill | str:
    """Returns the skill in the text of a SKILL.md in a folder, or the sentence that says why it holds none."""
    match = _HEADER.match(text)
    told = _mapping(match["yaml"]) if match else None
    if match is None or told is None:
        return f"The skill {folder} has no front matter; begin its SKILL.md with ---, name, description, ---."
    name, description = str(told.get("name") or ""), " ".join(str(told.get("description") or "").split())
    if not NAME.fullmatch(name) or not description:
        return (
            f"The skill {folder} needs a name of a-z, 0-9 and - (2 to 41 characters) and a description in "
            "its front matter."
        )
    triggers, never, tools = (_texts(told.get(member)) for member in ("triggers", "never", "tools"))
    return Skill(name, description, match["body"].strip(), triggers, never, tools, told.get("about") == "outside")


def _mapping(text: str) -> dict[str, Any] | None:
    import yaml

    try:
        value = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - builds texts, lists and mappings alone
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(" ".join(item.split()) for item in value if isinstance(item, str)) if isinstance(value, list) else ()
