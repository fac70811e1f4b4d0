"""What the corpus is made of: keys from published seeds, cases, and the folder that collects files and cases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacl.signing import SigningKey

from tests.verifier.evidence import KeyLog
from tests.verifier.ledger import Chain, policy, trust

VECTORS = Path(__file__).parents[3] / "verifier" / "vectors"
FOLDER = VECTORS / "v3"
SEEDS: dict[str, Any] = json.loads((VECTORS / "v2" / "basics.json").read_text())
ENTRY_SEED, CHECKPOINT_SEED = (bytes.fromhex(SEEDS[name]) for name in ("entrySeedHex", "checkpointSeedHex"))
SUBSTRATE = "prometheus.example"
EXITS = {None: 2, "PASS": 0, "TAMPERED": 1, "UNANCHORED": 3, "TRUNCATED": 4, "FORKED": 5, "TORN_TAIL": 6, "STALE": 7}
EXITS |= {"MALFORMED": 8, "UNSUPPORTED": 9}

DERIVED = {
    name: hashlib.sha256(seed + name.encode()).digest()
    for seed, names in ((ENTRY_SEED, ("next", "third", "stranger")), (CHECKPOINT_SEED, ("next-checkpoint",)))
    for name in names
}
ENTRY, CHECKPOINT = SigningKey(ENTRY_SEED), SigningKey(CHECKPOINT_SEED)
NEXT, THIRD, STRANGER, NEXT_CHECKPOINT = (SigningKey(seed) for seed in DERIVED.values())


def origin(chain: str, tenant: str = "-", substrate: str = SUBSTRATE) -> str:
    return f"{substrate}/{chain}/{tenant}"


def chain(name: str = "decisions", size: int = 0, *, tenant: str = "-", key: SigningKey = ENTRY) -> Chain:
    """A chain of sound entries under the published entry key."""
    made = Chain(origin(name, tenant), key)
    return made.fill(size, **({} if tenant == "-" else {"tenantId": tenant}))


def key_log(tenant: str = "-", substrate: str = SUBSTRATE) -> KeyLog:
    """A key log as every ledger begins it: the entry key, then the checkpoint key."""
    made = KeyLog(origin("keys", tenant, substrate), ENTRY)
    more: dict[str, Any] = {} if tenant == "-" else {"tenantId": tenant}
    return made.created(ENTRY, **more).created(CHECKPOINT, "checkpoint", **more)


def trusting(name: str = "decisions", *keys: dict[str, Any], tenant: str = "-") -> bytes:
    """A policy file for a chain; without keys it trusts the published two."""
    given = list(keys) or [trust(ENTRY), trust(CHECKPOINT, "checkpoint")]
    return (json.dumps(policy(origin(name, tenant), given), indent=1) + "\n").encode()


def signature_of(line: bytes) -> str:
    return line.split(b'"signature":"')[1].split(b'"')[0].decode()


def joined(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@dataclass(frozen=True)
class Case:
    """What a verifier is given, as files of the corpus, and what it must answer; verdict None is a usage error."""

    name: str
    attack: str
    inputs: Sequence[str]
    verdict: str | None = "PASS"
    id: int | None = None
    check: str | None = None
    policies: Sequence[str] = ()
    checkpoints: Sequence[str] = ()
    key_log: str | None = None
    args: Sequence[str] = ()
    reports: Sequence[Sequence[Any]] = ()
    note: str = ""

    def document(self) -> dict[str, Any]:
        """The case as the manifest spells it."""
        told: dict[str, Any] = {
            "name": self.name,
            "attack": self.attack,
            "inputs": list(self.inputs),
            "policies": list(self.policies),
            "checkpoints": list(self.checkpoints),
            "keyLog": self.key_log,
            "args": list(self.args),
            "verdict": self.verdict,
            "exit": EXITS[self.verdict],
            "id": self.id,
            "check": self.check,
        }
        told |= {"reports": [list(report) for report in self.reports]} if self.reports else {}
        return told | ({"note": self.note} if self.note else {})


@dataclass
class Corpus:
    """The files by name and the cases that use them."""

    files: dict[str, bytes] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def file(self, name: str, content: Chain | bytes) -> str:
        """Keep a file; the same name twice must mean the same bytes."""
        data = content.content if isinstance(content, Chain) else content
        assert self.files.setdefault(name, data) == data, name
        return name

    def policy(self, name: str = "decisions", *keys: dict[str, Any], called: str = "", tenant: str = "-") -> str:
        """Keep a policy file."""
        return self.file(f"policies/{called or name}.json", trusting(name, *keys, tenant=tenant))

    def case(self, name: str, attack: str, content: Chain | bytes, *found: Any, **more: Any) -> None:
        """Keep a case of one chain, which is a file of its own name, under the policy of decisions unless told."""
        folder, suffix = name.split("/", maxsplit=1)[0], ".jsonl"
        assert folder != name
        file = self.file(name + suffix, content)
        self.given(name, attack, [file], *found, **more)

    def given(self, name: str, attack: str, inputs: Sequence[str], *found: Any, **more: Any) -> None:
        """Keep a case of these files; `found` is verdict, id and check."""
        verdict, number, check = [*found, None, None, None][:3] if found else ("PASS", None, None)
        more.setdefault("policies", [self.policy()])
        assert all(case.name != name for case in self.cases), name
        self.cases.append(Case(name, attack, inputs, verdict, number, check, **more))

    def note(self, name: str, of: Chain, size: int, **more: Any) -> str:
        """Keep a checkpoint."""
        return self.file(f"checkpoints/{name}.checkpoint", of.checkpoint(size, **{"key": CHECKPOINT, **more}))
