"""Writes verifier/vectors/v3 anew: `python -m tests.verifier.corpus.generate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nacl.signing import SigningKey

from tests.verifier.bodies import LAYERS, sha
from tests.verifier.corpus import alone, commitments, curve, families, keylogs, layers, lines, outside, proofs, states
from tests.verifier.corpus.material import (
    CHECKPOINT_SEED,
    DERIVED,
    ENTRY_SEED,
    FOLDER,
    Corpus,
    origin,
)
from tests.verifier.evidence import EVENT_TYPE, pae
from tests.verifier.ledger import public

OTHERS = {"README.md", ".gitattributes", "schema.json"}
"""Files of the folder that other hands make."""


def corpus() -> Corpus:
    """Everything, in memory."""
    made = Corpus()
    for part in (lines, outside, layers, keylogs, proofs, states, families):
        part.add_to(made)
    made.file("families/alone.json", _rows(alone.rows()))
    made.file("ed25519.json", _rows(curve.rows()))
    made.file("commitments.json", _rows(commitments.rows()))
    made.file("basics.json", (json.dumps(basics(), indent=1) + "\n").encode())
    made.file("manifest.json", _rows([case.document() for case in made.cases]))
    return made


def basics() -> dict[str, Any]:
    """The keys of the corpus, one genesis hash a chain, and one PAE of a key event."""
    seeds = {"entry": ENTRY_SEED, "checkpoint": CHECKPOINT_SEED, **DERIVED}
    return {
        "keys": {name: {"seedHex": seed.hex(), "publicKey": public(SigningKey(seed))} for name, seed in seeds.items()},
        "genesis": {origin(name): sha(f"prometheus-receipts genesis v1\n{origin(name)}\n") for name in LAYERS},
        "keyEventPae": {"type": EVENT_TYPE.decode(), "payload": "{}", "hex": pae(EVENT_TYPE, b"{}").hex()},
    }


def _rows(rows: list[dict[str, Any]]) -> bytes:
    """A list of objects, each on a line of its own."""
    return ("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n").encode()


def write(folder: Path = FOLDER) -> None:
    """Write every file, and remove what is no longer made."""
    made = corpus().files
    for old in folder.rglob("*"):
        if old.is_file() and old.relative_to(folder).as_posix() not in {*made, *OTHERS}:
            old.unlink()
    for name, data in made.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


if __name__ == "__main__":
    write()
