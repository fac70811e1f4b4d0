"""Small faults in the checks of both verifiers, and the case of the vectors that each must change."""

from __future__ import annotations

from tests.verifier.faults import evidence, lines, shortcuts
from tests.verifier.faults.fault import Fault

FAULTS = [
    *lines.LINKS,
    *lines.SPELLING,
    *shortcuts.CURVE,
    *shortcuts.AT_ONCE,
    *evidence.EVIDENCE,
    *evidence.KEY_LOGS,
    *evidence.PARTS,
]

__all__ = ["FAULTS", "Fault"]
