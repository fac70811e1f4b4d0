"""Key logs: keys that follow one another, and every way to abuse that."""

from __future__ import annotations

from typing import Any

from nacl.signing import SigningKey

from tests.verifier.bodies import decision
from tests.verifier.corpus.material import (
    CHECKPOINT,
    ENTRY,
    NEXT,
    NEXT_CHECKPOINT,
    STRANGER,
    THIRD,
    Corpus,
    chain,
    key_log,
    origin,
)
from tests.verifier.evidence import KeyLog
from tests.verifier.ledger import Chain, public, trust

AT = {"keys": 4, "decisions": 4}
ATTACK = "key rotation abuse"


def rotated_log(**changes: Any) -> KeyLog:
    """The entry key followed by the next, from entry 4 on in the key log and in decisions."""
    return key_log().rotated(ENTRY, NEXT, AT, **changes)


def signed(*keys: SigningKey) -> Chain:
    """A chain of decisions, each entry by its own key."""
    made = chain()
    for number, key in enumerate(keys, 1):
        made.add(decision(number), key=key)
    return made


def add_to(corpus: Corpus) -> None:
    corpus.file("keylogs/by-a-stranger-from-4.jsonl", signed(*[ENTRY] * 3, *[STRANGER] * 3))
    corpus.file("keylogs/half-and-half.jsonl", signed(*[ENTRY] * 3, *[NEXT] * 3))
    corpus.file("keylogs/all-old.jsonl", signed(*[ENTRY] * 6))
    _good(corpus)
    _spoilt(corpus)
    _passed_over(corpus)
    _revoked(corpus)
    _checkpoint_keys(corpus)
    _alone(corpus)


def under(
    corpus: Corpus, name: str, log: KeyLog | bytes | None, *found: Any, of: str = "half-and-half", **more: Any
) -> None:
    """Keep a case of a chain under a key log."""
    file = corpus.file(f"keylogs/{name}.log.jsonl", log) if log is not None else None
    corpus.given(f"keylogs/{name}", more.pop("attack", ATTACK), [f"keylogs/{of}.jsonl"], *found, key_log=file, **more)


def _good(corpus: Corpus) -> None:
    under(corpus, "rotation", rotated_log())
    under(corpus, "rotation-without-its-log", None, "TAMPERED", 4, "key")
    under(corpus, "log-before-the-rotation", key_log(), "TAMPERED", 4, "key")
    under(corpus, "rotation-not-yet-in-use", rotated_log(), "TAMPERED", 4, "key", of="all-old")
    corpus.file("keylogs/new-key-too-early.jsonl", signed(ENTRY, ENTRY, *[NEXT] * 4))
    under(corpus, "new-key-too-early", rotated_log(), "TAMPERED", 3, "key", of="new-key-too-early")
    corpus.file("keylogs/three-keys.jsonl", signed(ENTRY, ENTRY, NEXT, NEXT, THIRD, THIRD))
    twice = key_log().rotated(ENTRY, NEXT, {"keys": 4, "decisions": 3})
    twice.rotated(NEXT, THIRD, {"keys": 5, "decisions": 5}, by=NEXT)
    under(corpus, "two-rotations", twice, of="three-keys")
    everywhere = key_log().rotated(ENTRY, NEXT, {"keys": 4})
    corpus.file("keylogs/all-new.jsonl", signed(*[NEXT] * 3))
    under(corpus, "chain-not-listed-so-from-1", everywhere, of="all-new")
    under(corpus, "chain-not-listed-so-old-key-has-no-entry", everywhere, "TAMPERED", 1, "key", of="all-old")
    under(corpus, "policy-of-a-trusted-key-alone", rotated_log(), policies=[], args=["--trusted-key", public(ENTRY)])
    ranged = corpus.policy("decisions", trust(ENTRY, toId=3), called="until-three")
    under(corpus, "rotation-beyond-the-policys-range", rotated_log(), "TAMPERED", 4, "key", policies=[ranged])
    corpus.file("keylogs/one-by-the-new-key.jsonl", signed(ENTRY, NEXT))
    early = key_log().rotated(ENTRY, NEXT, {"keys": 4, "decisions": 2})
    short = corpus.policy("decisions", trust(ENTRY, toId=2), called="until-two")
    under(corpus, "range-of-the-chain-is-not-the-logs", early, of="one-by-the-new-key", policies=[short])
    whole = corpus.policy("decisions", trust(ENTRY, toId=4), called="until-four")
    end: tuple[Any, ...] = ("TAMPERED", 5, "key")  # who wrote the end meant it
    under(corpus, "rotation-at-the-end-of-the-policys-range", rotated_log(), *end, policies=[whole])
    enough = corpus.policy("decisions", trust(ENTRY, toId=6), called="until-six")
    under(corpus, "new-key-ends-where-the-old-one-did", rotated_log(), policies=[enough])
    retired = corpus.policy("decisions", trust(ENTRY, toId=4), trust(NEXT, fromId=5), called="retired-after-four")
    stolen = key_log().rotated(ENTRY, STRANGER, AT)
    under(corpus, "retired-key-rotates-to-a-stranger", stolen, *end, of="by-a-stranger-from-4", policies=[retired])


def _spoilt(corpus: Corpus) -> None:
    one: dict[str, Any] = {
        "event": "rotated",
        "publicKey": public(NEXT),
        "previousKey": public(ENTRY),
        "chains": _rows(),
    }
    old, new = {"previousKeySignature": ENTRY}, {"publicKeySignature": NEXT}
    logs: dict[str, KeyLog | bytes] = {
        "signed-by-the-old-key-only": key_log().event(old, **one),
        "signed-by-the-new-key-only": key_log().event(new, **one),
        "signed-by-neither": key_log().event({}, **one),
        "old-signature-by-a-stranger": key_log().event({"previousKeySignature": STRANGER, **new}, **one),
        "new-signature-by-a-stranger": key_log().event({**old, "publicKeySignature": STRANGER}, **one),
        "signatures-swapped": key_log().event({"previousKeySignature": NEXT, "publicKeySignature": ENTRY}, **one),
        "signatures-over-another-event": key_log().event({**old, **new}, says={"reason": "monthly"}, **one),
        "signatures-of-another-type": key_log().event({**old, **new}, kind=b"application/json", **one),
        "line-signed-by-the-new-key": rotated_log(by=NEXT),
        "line-signed-by-a-stranger": rotated_log(by=STRANGER),
        "line-signed-by-the-checkpoint-key": rotated_log(by=CHECKPOINT),
        "previous-key-missing": key_log().event({**old, **new}, **{**one, "previousKey": None}),
        "previous-key-is-the-new-one": key_log().event(
            {"previousKeySignature": ENTRY, "publicKeySignature": ENTRY}, **{**one, "publicKey": public(ENTRY)}
        ),
        "created-with-a-previous-key": KeyLog(origin("keys"), ENTRY).created(ENTRY, previousKey=public(NEXT)),
        "created-without-a-signature": KeyLog(origin("keys"), ENTRY).event({}, publicKey=public(ENTRY)),
        "revoked-with-a-signature": key_log().event(new, event="revoked", publicKey=public(NEXT)),
        "revoked-with-a-previous-key": key_log().revoked(NEXT, AT, previousKey=public(ENTRY)),
        "of-another-ledger": key_log(substrate="other.example").rotated(ENTRY, NEXT, AT),
        "of-a-tenant": key_log("acme").rotated(ENTRY, NEXT, AT, tenantId="acme"),
        "edited": rotated_log().content.replace(b'"decisions","atId":4', b'"decisions","atId":1'),
        "torn": rotated_log().content[:-1],
        "that-is-another-chain": chain(size=3).content,
        "that-is-no-chain": b"rotated\n",
        "empty": b"",
        "old-key-goes-on-in-the-log": _old_goes_on(),
    }
    lines = rotated_log().lines
    for name, order in {"reordered": (1, 0, 2), "without-its-first-line": (1, 2), "repeated": (0, 1, 2, 2)}.items():
        logs[name] = b"".join(lines[number] + b"\n" for number in order)
    for name, log in logs.items():
        under(corpus, name, log, None)
    forged, spoilt = "keylogs/forged-log-at-level-chain", "keylogs/new-signature-by-a-stranger.log.jsonl"
    level = ["--level", "chain"]  # of the chain; the key log is judged in full all the same
    corpus.given(forged, ATTACK, ["keylogs/half-and-half.jsonl"], None, key_log=spoilt, args=level)
    three = corpus.note("key-log-of-three", rotated_log(), 3)
    under(corpus, "log-that-meets-its-checkpoint", rotated_log(), checkpoints=[three])
    cut: dict[str, Any] = {"of": "all-old", "attack": "cut a rotation from the end of the key log"}
    under(corpus, "log-cut-below-its-checkpoint", key_log(), None, checkpoints=[three], **cut)


def _old_goes_on() -> KeyLog:
    log = rotated_log()
    return log.created(THIRD, by=ENTRY)


def _rows() -> list[dict[str, Any]]:
    return [{"chain": name, "atId": number} for name, number in AT.items()]


def _passed_over(corpus: Corpus) -> None:
    """Sound as a log, and still no way from a trusted key to the one that signed."""
    strange = key_log().rotated(NEXT, STRANGER, {"decisions": 4})
    under(corpus, "from-an-untrusted-key", strange, "TAMPERED", 4, "key", of="by-a-stranger-from-4")
    created = key_log().created(STRANGER)
    under(corpus, "created-adds-no-trust", created, "TAMPERED", 4, "key", of="by-a-stranger-from-4")
    other_use = key_log().rotated(CHECKPOINT, STRANGER, {"decisions": 4})
    under(corpus, "from-the-checkpoint-key", other_use, "TAMPERED", 4, "key", of="by-a-stranger-from-4")
    late = key_log().rotated(NEXT, STRANGER, {"decisions": 4}).rotated(ENTRY, NEXT, {"keys": 5, "decisions": 4})
    under(corpus, "trusted-too-late", late, "TAMPERED", 4, "key", of="by-a-stranger-from-4")
    again = rotated_log().rotated(ENTRY, STRANGER, {"keys": 5, "decisions": 4}, by=NEXT)
    under(corpus, "the-same-key-rotated-twice", again, "TAMPERED", 4, "key", of="by-a-stranger-from-4")
    twice: dict[str, Any] = {"chains": [*_rows(), {"chain": "decisions", "atId": 1}]}
    under(corpus, "of-two-rows-of-a-chain-the-first-counts", rotated_log(**twice))
    for_checkpoints = key_log().rotated(CHECKPOINT, NEXT, {"decisions": 4}, "checkpoint")
    under(corpus, "rotated-for-checkpoints-only", for_checkpoints, "TAMPERED", 4, "key")


def _revoked(corpus: Corpus) -> None:
    attack = "revoked key used after its range"
    of: dict[str, Any] = {"of": "all-old", "attack": attack}
    under(corpus, "revoked-from-4", key_log().revoked(ENTRY, AT), "TAMPERED", 4, "key", **of)
    under(corpus, "revoked-from-7", key_log().revoked(ENTRY, {"keys": 4, "decisions": 7}), **of)
    under(corpus, "revoked-everywhere", key_log().revoked(ENTRY, {"keys": 4}), "TAMPERED", 1, "key", **of)
    under(corpus, "a-stranger-revoked", key_log().revoked(STRANGER, {"keys": 4}), **of)
    under(corpus, "revoked-for-checkpoints", key_log().revoked(CHECKPOINT, {"keys": 4}, "checkpoint"), **of)
    after = rotated_log().revoked(ENTRY, {"keys": 4, "decisions": 3}, by=NEXT)
    under(corpus, "rotated-then-revoked-earlier", after, "TAMPERED", 3, "key", attack=attack)
    later = rotated_log().revoked(ENTRY, {"keys": 4, "decisions": 6}, by=NEXT)
    under(corpus, "later-revocation-widens-nothing", later, "TAMPERED", 4, "key", **of)
    new = rotated_log().revoked(NEXT, {"keys": 5, "decisions": 6}, by=NEXT)
    under(corpus, "new-key-revoked-from-6", new, "TAMPERED", 6, "key", attack=attack)


def _checkpoint_keys(corpus: Corpus) -> None:
    attack = "rotation of the checkpoint key"
    six = signed(*[ENTRY] * 6)
    new = corpus.note("six-by-the-next-key", six, 6, key=NEXT_CHECKPOINT)
    old, three = corpus.note("six", six, 6), corpus.note("three-of-six", six, 3)
    log = key_log().rotated(CHECKPOINT, NEXT_CHECKPOINT, {"decisions": 5}, "checkpoint")
    of: dict[str, Any] = {"of": "all-old", "attack": attack}
    under(corpus, "checkpoint-key-rotated", log, checkpoints=[three, new], **of)
    under(corpus, "checkpoint-by-the-new-key-without-the-log", None, None, checkpoints=[new], **of)
    under(corpus, "checkpoint-by-the-old-key-after-it", log, None, checkpoints=[old], **of)
    early = corpus.note("three-by-the-next-key", six, 3, key=NEXT_CHECKPOINT)
    under(corpus, "checkpoint-by-the-new-key-before-it", log, None, checkpoints=[early], **of)
    gone = key_log().revoked(CHECKPOINT, {"decisions": 4}, "checkpoint")
    under(corpus, "checkpoint-by-a-revoked-key", gone, None, checkpoints=[old], **of)
    under(corpus, "checkpoint-by-a-key-revoked-later", gone, checkpoints=[three], **of)


def _alone(corpus: Corpus) -> None:
    """The key log as the chain that is verified."""
    attack, policy = "a key log as a chain", corpus.policy("keys")
    for name, found in {
        "log-before-the-rotation": (),
        "rotation": (),
        "signed-by-the-old-key-only": ("MALFORMED", 3, "schema"),
        "old-signature-by-a-stranger": ("TAMPERED", 3, "signature"),
        "new-signature-by-a-stranger": ("TAMPERED", 3, "signature"),
        "signatures-over-another-event": ("TAMPERED", 3, "signature"),
        "line-signed-by-a-stranger": ("TAMPERED", 3, "key"),
        "previous-key-is-the-new-one": ("MALFORMED", 3, "schema"),
        "created-with-a-previous-key": ("MALFORMED", 1, "schema"),
        "revoked-with-a-signature": ("MALFORMED", 3, "schema"),
        "line-signed-by-the-new-key": ("TAMPERED", 3, "key"),
        "edited": ("TAMPERED", 3, "hash"),
        "of-another-ledger": ("TAMPERED", 1, "link"),
        "reordered": ("TAMPERED", 2, "id"),
    }.items():
        corpus.given(f"keylogs/alone-{name}", attack, [f"keylogs/{name}.log.jsonl"], *found, policies=[policy])
