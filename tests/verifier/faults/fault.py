"""Small faults in the checks of both verifiers, each with the case of the vectors that must come out otherwise.

A fault takes one check of the norm away, or weakens it, as an edit in a hurry might. `case` names the case: of
v3/manifest.json, or of `v2:` the older manifest, `alone:` v3/families/alone.json, `curve:` v3/ed25519.json.
"""

from __future__ import annotations

from dataclasses import dataclass

Edit = tuple[str, str] | None


@dataclass(frozen=True)
class Fault:
    """What is wrong, the case that shows it, and in each verifier the text that is there once and what replaces it."""

    name: str
    case: str
    python: Edit
    node: Edit


def fault(name: str, case: str, python: Edit, node: Edit) -> Fault:
    return Fault(name, case, python, node)
