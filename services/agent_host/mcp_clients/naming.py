"""Tool names as a model sees them: pure, `^[A-Za-z0-9_-]{1,64}$`, one name a tool, whatever servers call theirs.

A name is `<server>_<tool>`, or the tool's own name when that already begins with `<server>_` or, as `message_draft` of
`messages` does, with its singular; other characters become `_`; of a long name the tail is kept, where tools differ
(agent.md row 76). Tools that would share a name all get a hash of their true names at its end: which of them comes
first must not decide who owns the short name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from itertools import count
from typing import Final, TypeAlias

MAX_CHARS: Final = 64
_HASH_CHARS: Final = 8
_SHORTEST_PLURAL: Final = 4
_OTHER = re.compile(r"[^A-Za-z0-9_-]")

ToolKey: TypeAlias = tuple[str, str]
"""Server and tool, as they are called on the wire."""


def model_names(tools: Iterable[ToolKey]) -> dict[ToolKey, str]:
    """Returns the model-facing name of each tool; the order of `tools` plays no part in it."""
    keys = sorted(set(tools))
    plain = {key: plain_name(*key) for key in keys}
    shared = Counter(plain.values())
    names = {key: name for key, name in plain.items() if shared[name] == 1}
    taken = set(names.values())
    for key in keys:
        if key not in names:
            names[key] = _hashed_name(key, plain[key], taken)
            taken.add(names[key])
    return names


def plain_name(server: str, tool: str) -> str:
    """Returns the name of a tool that shares it with no other, which it has whatever other servers there are."""
    own, name = _prefixes(server), _OTHER.sub("_", tool)
    return (name if name.startswith(own) else own[0] + name)[-MAX_CHARS:]


def may_be_of(name: str, server: str) -> bool:
    """Tells whether a tool of a server could have this model-facing name, whatever tools it has."""
    return name.startswith(_prefixes(server)) or len(name) == MAX_CHARS


def _prefixes(server: str) -> tuple[str, ...]:
    prefix = f"{_OTHER.sub('_', server)}_"
    return (prefix, f"{prefix[:-2]}_") if prefix.endswith("s_") and len(prefix) > _SHORTEST_PLURAL else (prefix,)


def _hashed_name(key: ToolKey, plain: str, taken: set[str]) -> str:
    stem = plain[-(MAX_CHARS - _HASH_CHARS - 1) :]
    digests = (hashlib.sha256("\0".join((*key, str(salt))).encode(errors="replace")).hexdigest() for salt in count())
    return next(name for digest in digests if (name := f"{stem}_{digest[:_HASH_CHARS]}") not in taken)
