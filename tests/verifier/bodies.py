"""Bodies of every layer, sound unless a test changes a member; docs/receipt-format.md section 2 rules them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

START_MS = 1_764_607_125_386
ULID = "0123456789ABCDEFGHJKMNPQRS"
Body = dict[str, Any]


def sha(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def iso(ms: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{ms % 1000:03}Z"


def canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def decision(number: int, **changes: Any) -> Body:
    """An L12 v2 body without its link; a change to None is null, to `...` leaves the member out."""
    ms = START_MS + number * 1000
    body: Body = {
        "id": number,
        "recordedAtMs": ms,
        "recordedAtIso": iso(ms),
        "productId": "prometheus-agent",
        "specId": "turn-router",
        "specHash": sha("spec"),
        "inputHash": sha(f"in {number}"),
        "outputCanonicalHash": sha(f"out {number}"),
        "category": "router",
        "modelIdentity": {"provider": "anthropic", "model": "claude-sonnet-5-5", "version": "2026-05-01"},
        "latencyMs": 1200 + number,
        "schemaValid": True,
        "reviewerVerdict": None,
        "fallbackTriggered": False,
        "prevHash": "",
        "tenantId": ...,
        "turnId": ...,
        "callId": "c_" + ULID,
        "exitState": "ok",
        "commitment": "hmac-sha256",
    }
    return _changed(body, changes)


def decision_v1(number: int, **changes: Any) -> Body:
    body = decision(number)
    for name in ("turnId", "callId", "exitState", "commitment"):
        del body[name]
    return _changed(body, changes)


def turn(number: int, **changes: Any) -> Body:
    """An L10 v2 body without its link."""
    ms = START_MS + number * 1000
    body: Body = {
        "id": number,
        "recordedAtMs": ms,
        "recordedAtIso": iso(ms),
        "productId": "prometheus-agent",
        "turnId": "t_" + ULID,
        "sessionId": "s_" + ULID,
        "gateway": "cli",
        "outcome": "replied",
        "iterations": 2,
        "inputHash": sha(f"in {number}"),
        "replyHash": sha(f"out {number}"),
        "model": {
            "id": "claude-sonnet-5-5",
            "inputTokens": 10,
            "outputTokens": 20,
            "cacheReadTokens": 0,
            "cacheWriteTokens": 0,
            "costMicroUsd": 300,
            "estimated": True,
            "calls": [{"kind": "loop", "n": 2}, {"kind": "gate", "n": 1}],
        },
        "tools": [{"tool": "memory_search", "provider": "memory", "status": "ok", "n": 1, "costMicroUsd": None}],
        "memory": {"searches": 1, "used": 1, "kept": 0, "unsent": 0, "reportId": None},
        "decisions": {"n": 3, "firstId": 1, "lastId": 3},
        "totalMicroUsd": 300,
        "traceHash": sha("trace"),
        "commitment": "sha256",
        "prevHash": "",
        "tenantId": ...,
    }
    return _changed(body, changes)


def state(number: int, **changes: Any) -> Body:
    """An L1 v2 body whose one row is of an empty chain."""
    row = {"chain": "decisions", "size": 0, "rootHash": sha(""), "headHash": sha("genesis")}
    return _changed({**_opening(number), "chains": [row], **_tail()}, changes)


def spec(number: int, **changes: Any) -> Body:
    """An L2 v2 body."""
    body = {
        **_opening(number),
        "productId": "prometheus-agent",
        "specId": "turn-router",
        "specHash": sha(f"spec {number}"),
        "category": "router",
        "modelIdentity": {"provider": "anthropic", "model": "claude-sonnet-5-5", "version": "2026-05-01"},
        "schemaVersion": "prometheus-runtime-ai-spec-1.0",
        "specBytes": 1200 + number,
        **_tail(),
    }
    return _changed(body, changes)


def key_event(number: int, **changes: Any) -> Body:
    """An L3 v2 body that says a key was created, not yet signed by it."""
    body = {
        **_opening(number),
        "event": "created",
        "use": "entry",
        "publicKey": base64.b64encode(bytes(32)).decode(),
        "previousKey": None,
        "reason": "first start",
        "chains": [],
        **_tail(),
        "previousKeySignature": ...,
        "publicKeySignature": ...,
    }
    return _changed(body, changes)


def build(number: int, **changes: Any) -> Body:
    """An L4 v2 body."""
    body = {
        **_opening(number),
        "productId": "prometheus-agent",
        "buildId": "b_" + ULID,
        "version": "1.2.3",
        "artefacts": [{"name": "prometheus_agent-1.2.3-py3-none-any.whl", "digest": sha("wheel")}],
        "lockHash": sha("lock"),
        "verifiers": [
            {"name": "verify.py", "digest": sha("verify.py")},
            {"name": "verify.mjs", "digest": sha("verify.mjs")},
        ],
        "promptVersion": "7",
        "modelVersion": "claude-sonnet-5-5",
        "configVersion": "3",
        "gateVerdict": "passed",
        "gateReportHash": sha("report"),
        **_tail(),
    }
    return _changed(body, changes)


def call(number: int, **changes: Any) -> Body:
    """An L5 v2 body."""
    body = {
        **_opening(number),
        "productId": "prometheus-agent",
        "callId": "c_" + ULID,
        "client": "claude-desktop",
        "server": "notes",
        "tool": "note_write",
        "toolListHash": sha("tools"),
        "argumentsHash": sha(f"arguments {number}"),
        "resultHash": None,
        "state": "admitted",
        "latencyMs": 0,
        "commitment": "hmac-sha256",
        **_tail(),
    }
    return _changed(body, changes)


def review(number: int, **changes: Any) -> Body:
    """An L6 v2 body."""
    body = {
        **_opening(number),
        "productId": "prometheus-agent",
        "reviewId": "r_" + ULID,
        "decisionId": number,
        "decisionHash": sha(f"decision {number}"),
        "callId": "c_" + ULID,
        "reviewer": "ada",
        "verdict": "amended",
        "outputHash": sha("amended"),
        "commentHash": None,
        "commitment": "hmac-sha256",
        **_tail(),
    }
    return _changed(body, changes)


def regeneration(number: int, **changes: Any) -> Body:
    """An L7 v2 body."""
    body = {**_opening(number), "reason": "scheduled", "stateId": number, "chains": 8, "entries": 40, **_tail()}
    return _changed(body, changes)


def component(number: int, **changes: Any) -> Body:
    """An L11 v2 body."""
    body = {
        **_opening(number),
        "productId": "prometheus-agent",
        "versionId": "v_" + ULID,
        "kind": "skill",
        "name": "summarise-inbox",
        "version": str(number),
        "contentHash": sha(f"content {number}"),
        "previousHash": None,
        "source": "home",
        "status": "seen",
        **_tail(),
    }
    return _changed(body, changes)


def _opening(number: int) -> Body:
    ms = START_MS + number * 1000
    return {"id": number, "recordedAtMs": ms, "recordedAtIso": iso(ms)}


def _tail() -> Body:
    return {"prevHash": "", "tenantId": ...}


def _changed(body: Body, changes: Mapping[str, Any]) -> Body:
    assert set(changes) <= set(body), "a change must be to a member"
    return {**body, **changes}


LAYERS: dict[str, tuple[str, Callable[..., Body]]] = {
    "state": ("L1", state),
    "specs": ("L2", spec),
    "keys": ("L3", key_event),
    "builds": ("L4", build),
    "calls": ("L5", call),
    "reviews": ("L6", review),
    "regenerations": ("L7", regeneration),
    "turns": ("L10", turn),
    "components": ("L11", component),
    "decisions": ("L12", decision),
}
"""Layer and body by chain, in the layers' order."""
