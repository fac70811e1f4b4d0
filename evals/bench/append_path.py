"""Where an append's time goes inside the writer, step by step, without gRPC: CPU microseconds an entry."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nacl.signing import SigningKey

from receipt_writer.app import open_service
from receipt_writer.format.canonical import encode_accepted
from receipt_writer.format.chain import genesis_head, next_entry
from receipt_writer.format.digest import sha256_hex
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.schema import LAYERS
from receipt_writer.ledger import Append, Ledger
from receipt_writer.storage.protocol import EntryStore

LAYER, FORM = "L12", "v2"
ROUNDS, REPEATS = 5, 1_000
BATCHES, BATCH = 40, 64


class _Signer:
    """Signs as the file signer does; with `idle`, hands out one signature over and over."""

    def __init__(self, *, idle: bool = False) -> None:
        self._key, self._idle = SigningKey(bytes(32)), idle
        self._once = self._key.sign(b"once").signature
        self.public_key = bytes(self._key.verify_key)

    def sign(self, message: bytes) -> bytes:
        return self._once if self._idle else self._key.sign(message).signature


def main() -> int:
    """Prints the steps that make one entry, then what a batch of 64 costs in the ledger, the store and the index."""
    draft = _draft(1)
    form, signer = LAYERS[LAYER].form(FORM), _Signer()
    entry = _entry(draft, signer)
    steps: dict[str, Callable[[], object]] = {
        "conform the draft": lambda: form.draft.conform(draft),
        "canonical bytes of the body": lambda: encode_accepted(dict(entry.fields)),
        "SHA-256 of the body": lambda: sha256_hex(entry.body),
        "Ed25519 signature": lambda: signer.sign(entry.signed_bytes),
        "the whole entry": lambda: _entry(draft, signer),
        "  of that, all but signing": lambda: _entry(draft, _IDLE),
        "read a line back, strictly": lambda: parse_line(LAYER, entry.line),
    }
    for name, step in steps.items():
        print(f"{name:32} {_cpu_us(step):7.1f} us")
    with tempfile.TemporaryDirectory() as folder:
        service = open_service(Path(folder))
        for name, used_us in _batches(service.ledger, service.store).items():
            print(f"{name:32} {used_us:7.1f} us   (an entry of {BATCH})")
        service.store.close()
    return 0


def _cpu_us(step: Callable[[], object]) -> float:
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(REPEATS):
            step()
        rounds.append((time.process_time() - started) / REPEATS * 1e6)
    return min(rounds)


def _batches(ledger: Ledger, store: EntryStore) -> dict[str, float]:
    spent = {"ledger: plan a batch": 0.0, "store: write and sync it": 0.0, "index: take it over": 0.0}
    for number in range(BATCHES):
        commands = [Append(LAYER, _draft(number * BATCH + each)) for each in range(BATCH)]
        times = [time.process_time()]
        plan = ledger.plan(commands, 1_764_607_125_386 + number, _recall)
        times.append(time.process_time())
        store.commit(plan.batch())
        times.append(time.process_time())
        ledger.apply(plan)
        times.append(time.process_time())
        for name, begun, ended in zip(spent, times, times[1:], strict=False):
            spent[name] += ended - begun
    return {name: seconds / (BATCHES * BATCH) * 1e6 for name, seconds in spent.items()}


def _entry(draft: dict[str, object], signer: _Signer) -> Entry:
    entry, _ = next_entry(_HEAD, LAYER, FORM, draft, now_ms=1_764_607_125_386, tenant_id=None, signer=signer)
    return entry


def _recall(layer: str, entry_id: int) -> Entry:
    raise LookupError(layer, entry_id)


def _draft(number: int) -> dict[str, object]:
    return {
        "productId": "prometheus-agent",
        "specId": "reply-drafter",
        "specHash": "a" * 64,
        "inputHash": "b" * 64,
        "outputCanonicalHash": "c" * 64,
        "category": "drafter",
        "modelIdentity": {"provider": "offline", "model": "offline-rules", "version": "1"},
        "latencyMs": 3,
        "schemaValid": True,
        "reviewerVerdict": None,
        "fallbackTriggered": False,
        "callId": f"c_{number:026d}",
        "exitState": "ok",
        "commitment": "hmac-sha256",
    }


_IDLE = _Signer(idle=True)
_HEAD = genesis_head("home/decisions/-")

if __name__ == "__main__":
    sys.exit(main())
