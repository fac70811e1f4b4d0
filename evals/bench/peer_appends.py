"""Run by the Python of a throwaway environment: what three packages of the same trade take for the same content.

Prints one JSON object a package: entries, seconds to append them one by one, seconds to verify the whole chain, and
whether the package syncs each entry to the disk by its own default.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENTRIES = 300


def main(folder: Path) -> int:
    """Measure each package in a folder of its own."""
    for name, measure, is_durable in (
        ("obsigna", _obsigna, True),
        ("auditchain (sqlite)", _auditchain_sqlite, True),
        ("auditchain (jsonl)", _auditchain_jsonl, False),
        ("signet-auth", _signet, False),
    ):
        home = folder / name.replace(" ", "-")
        home.mkdir()
        append, verify = measure(home)
        contents = [_content(number) for number in range(ENTRIES)]
        started = time.perf_counter()
        for content in contents:
            append(content)
        appended = time.perf_counter()
        verify()
        ended = time.perf_counter()
        figures = {"append_s": appended - started, "verify_s": ended - appended}
        print(json.dumps({"name": name, "entries": ENTRIES, "is_durable": is_durable, **figures}))
    return 0


def _content(number: int) -> dict[str, Any]:
    return {
        "productId": "prometheus-agent",
        "specId": "reply-drafter",
        "specHash": "a" * 64,
        "inputHash": "b" * 64,
        "outputCanonicalHash": "c" * 64,
        "category": "drafter",
        "provider": "offline",
        "model": "offline-rules",
        "latencyMs": 3,
        "callId": f"c_{number:026d}",
        "exitState": "ok",
    }


_Pair = tuple[Callable[[dict[str, Any]], object], Callable[[], object]]


def _obsigna(home: Path) -> _Pair:
    import obsigna

    keys = obsigna.generate_key_pair()
    store = obsigna.open_store(str(home / "receipts.db"))

    class Emitter:
        def emit(self, receipt: Any) -> None:
            store.insert(receipt, obsigna.hash_receipt(receipt))

    chain = obsigna.ReceiptChain(
        chain_id="bench", private_key=keys.private_key, verification_method="did:example:a#1", emitter=Emitter()
    )

    def append(content: dict[str, Any]) -> None:
        action = obsigna.ActionInput(
            type="system.command.execute",
            risk_level="low",
            parameters_hash="sha256:" + content["inputHash"],
            idempotency_key=content["callId"],
        )
        chain.emit(
            obsigna.ChainEmitInput(
                issuer=obsigna.Issuer(id="did:example:a", model=content["model"]),
                principal=obsigna.Principal(id="did:example:b"),
                action=action,
                outcome=obsigna.Outcome(status="success", response_hash="sha256:" + content["outputCanonicalHash"]),
            )
        )

    def verify() -> None:
        if not obsigna.verify_stored_chain(store, "bench", keys.public_key).valid:
            raise RuntimeError("obsigna")

    return append, verify


def _auditchain_sqlite(home: Path) -> _Pair:
    import auditchain

    return _auditchain(auditchain, auditchain.SqliteBackend(home / "log.db"))


def _auditchain_jsonl(home: Path) -> _Pair:
    import auditchain

    return _auditchain(auditchain, auditchain.JsonlBackend(home / "log.jsonl"))


def _auditchain(auditchain: Any, backend: Any) -> _Pair:
    private, public = auditchain.generate_keypair()
    log = auditchain.SyncAuditLog(backend, signing_key=private)

    def append(content: dict[str, Any]) -> None:
        log.append("agent", "decision", content["callId"], metadata=content)

    def verify() -> None:
        if not log.verify(signers={"s0": public}).ok:
            raise RuntimeError("auditchain")

    return append, verify


def _signet(home: Path) -> _Pair:
    import signet_auth

    agent = signet_auth.SigningAgent.create("bench", signet_dir=str(home))

    def append(content: dict[str, Any]) -> None:
        agent.sign("decision", params=content)

    def verify() -> None:
        agent.audit_verify_signatures()
        agent.audit_verify_chain()

    return append, verify


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
