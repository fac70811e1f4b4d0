"""SOUL.md: who the agent is, written once with defaults and then the person's to edit (agent.md row 7)."""

from __future__ import annotations

from pathlib import Path

from service_runtime.home import secure_write

DEFAULT = """\
# Soul

You are a careful personal assistant. You use your tools to remember, look up and arrange things for one person.
You say what you did and what you could not do. You keep replies short.
"""


def read_soul(path: Path) -> str:
    """Returns the text of SOUL.md, writing the default first when there is none.

    A file that is not UTF-8 is read with the broken bytes replaced, and one that can be neither read nor written is the
    default: neither may stop a conversation.
    """
    try:
        if not path.exists():
            secure_write(path, DEFAULT.encode())
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return DEFAULT  # a home that is read-only at its root, as in a container
