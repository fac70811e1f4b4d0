"""What the verifiers' tests share: the two verifiers, and one call that writes files and lets both judge them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.verifier import both, ledger
from verifier import verify

Judge = Callable[..., both.Outcome]


@pytest.fixture(scope="session")
def verifiers() -> Iterator[both.Verifiers]:
    yield from both.start()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let verify.py cut files into small blocks, so that those of the tests have several."""
    monkeypatch.setattr(verify, "BLOCK_BYTES", 1 << 17)


@pytest.fixture
def judge(verifiers: both.Verifiers, tmp_path: Path) -> Judge:
    """Write a chain, its policy and its checkpoints to files and let both verifiers judge them."""

    def call(
        chain: ledger.Chain | bytes,
        *args: str,
        policy: Mapping[str, Any] | None = ledger.policy(),
        checkpoints: Sequence[bytes] = (),
        copy: ledger.Chain | bytes | None = None,
        now_ms: int = both.NOW_MS,
        text_too: bool = True,
    ) -> both.Outcome:
        files = [tmp_path / "chain.jsonl", *([tmp_path / "copy.jsonl"] if copy is not None else [])]
        for file, content in zip(files, (chain, copy), strict=False):
            assert content is not None
            file.write_bytes(content if isinstance(content, bytes) else content.content)
        line = [str(file) for file in files]
        if policy is not None:
            (tmp_path / "policy.json").write_text(json.dumps(policy))
            line += ["--policy", str(tmp_path / "policy.json")]
        for i, signed in enumerate(checkpoints):
            (tmp_path / f"{i}.checkpoint").write_bytes(signed)
            line += ["--checkpoint", str(tmp_path / f"{i}.checkpoint")]
        run = verifiers.run if text_too else verifiers.run_json
        return run([*line, *args], now_ms)

    return call
