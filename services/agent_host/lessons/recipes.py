"""A skill as a person would have written it in `<home>/skills`. Pure: what is not fit to be one is refused."""

from __future__ import annotations

import json
from typing import Final

from agent_host.errors import LessonError
from agent_host.skills.loading import NAME, skill_in
from agent_host.skills.matching import telling_words

MOST_LINES: Final = 80
MOST_BODY_CHARS: Final = 8_000
MOST_DESCRIPTION_CHARS: Final = 300
FEWEST_WORDS: Final = 5


def skill_text(name: object, description: object, body: object) -> str:
    """Returns the SKILL.md of a skill (agent.md 2.8).

    Raises:
        LessonError: it would be none, or none that a message could ever be about.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise LessonError("A skill needs a `name` of a-z, 0-9 and - (2 to 41 characters), such as packing-list.")
    about = " ".join(description.split()) if isinstance(description, str) else ""
    if len(about.split()) < FEWEST_WORDS or len(about) > MOST_DESCRIPTION_CHARS or not about.isprintable():
        raise LessonError(
            f"A skill needs a `description` of at least {FEWEST_WORDS} words and at most {MOST_DESCRIPTION_CHARS} "
            "characters that says when it helps."
        )
    if len(telling_words(f"{name} {about}")) < 2:  # noqa: PLR2004 - what a message has to share with it
        raise LessonError("The `description` has only common words; name what the messages will be about.")
    lines = body.strip().splitlines() if isinstance(body, str) else []
    if not lines or len(lines) > MOST_LINES or sum(map(len, lines)) > MOST_BODY_CHARS:
        raise LessonError(
            f"A skill needs a `body` of 1 to {MOST_LINES} lines and at most {MOST_BODY_CHARS:,} characters."
        )
    if any(not line.replace("\t", " ").isprintable() for line in lines):
        raise LessonError("The `body` holds characters that cannot be shown; send plain text.")
    text = "\n".join(
        ["---", f"name: {name}", f"description: {json.dumps(about, ensure_ascii=False)}", "---", *lines, ""]
    )
    made = skill_in(text, name)
    if isinstance(made, str):
        raise LessonError(made)
    return text
