"""The table: what an entry of each layer and form says, member by member, in order (RF-8).

A new layer is a row of `LAYERS`, a new member is a new form; a published form never changes. Verifiers carry their own
copy of this table, and `describe_table` gives the plain JSON by which a test proves the copies equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from receipt_writer.format.errors import UnsupportedError, shown
from receipt_writer.format.instant import MAX_MS
from receipt_writer.format.kinds import (
    Base64,
    Choice,
    Flag,
    IdRange,
    Instant,
    Integer,
    Kind,
    Member,
    Nullable,
    Pattern,
    Record,
    Rows,
    Text,
)
from receipt_writer.format.signing import ALGORITHM, PUBLIC_KEY_BYTES, SIGNATURE_BYTES

CHAIN_MEMBERS = frozenset({"id", "recordedAtMs", "recordedAtIso", "prevHash", "tenantId"})
"""The members of a body that the chain sets; a draft brings all others."""


@dataclass(frozen=True, slots=True)
class Form:
    """One frozen shape of a layer's entries: the part a caller brings, the body, and the whole line.

    `idempotency_key` names the members that together identify a draft within its chain, so a repeated append is
    recognised; it is empty where only the writer itself appends, or where a form knows no such member.
    """

    draft: Record
    body: Record
    line: Record
    idempotency_key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of chain: its short name, the chain's name in an origin, what one entry attests, and its forms.

    `filters` says by which members a reader may ask for entries: the filter's name, and the path of names that leads
    to the member in a line. An entry in which the path ends early, or ends at null, has no value there.
    """

    name: str
    chain: str
    attests: str
    forms: Mapping[str, Form]
    filters: Mapping[str, tuple[str, ...]]

    def form(self, name: str) -> Form:
        """Return the form called `name`.

        Raises:
            UnsupportedError: this build knows no such form of this layer.
        """
        if name not in self.forms:
            raise UnsupportedError(
                "form", f"{self.name} has no form {shown(name)} here; known: {' '.join(self.forms)}."
            )
        return self.forms[name]


_COUNT = Integer()
_MONEY = Integer()
_TEXT = Text()
_HASH = Pattern("[0-9a-f]{64}", "64 lower-case hex digits", 64)
_SPEC_ID = Pattern("[a-z0-9]+(-[a-z0-9]+)*", "kebab-case of at most 128 characters", 128)
_CHAIN = Pattern("[a-z]+", "the name of a chain", 32)
_KEY = Base64(PUBLIC_KEY_BYTES)
_TENANT_ID = Pattern("(?!-$)[a-z0-9.-]+", "lower-case letters, digits, dots and hyphens, and not - alone", 192)
_COMMITMENT = Choice(("hmac-sha256", "sha256"))


def _ulid(prefix: str) -> Kind:
    return Pattern(prefix + "[0-9A-HJKMNP-TV-Z]{26}", f"{prefix} and 26 Crockford base32 characters", 28)


def _record(**kinds: Kind) -> Record:
    return Record(tuple(Member(name, kind) for name, kind in kinds.items()))


_OPENING_MEMBERS = _record(id=Integer(1), recordedAtMs=Integer(0, MAX_MS), recordedAtIso=Instant()).members
_PREV_HASH = Member("prevHash", _HASH)
_TENANT = Member("tenantId", _TENANT_ID, optional=True)

ATTESTATION = _record(
    algorithm=Choice((ALGORITHM,)),
    publicKey=Base64(PUBLIC_KEY_BYTES),
    signature=Base64(SIGNATURE_BYTES),
    signedAtIso=Instant(),
    canonicalForm=_TEXT,
)
"""The signature block of every entry (RF-11)."""


def _form(*body: Member, idempotency_key: tuple[str, ...] = ()) -> Form:
    tail = (Member("hash", _HASH), Member("attestation", ATTESTATION))
    draft = tuple(member for member in body if member.name not in CHAIN_MEMBERS)
    return Form(Record(draft), Record(body), Record(body + tail), idempotency_key)


_CATEGORY = Choice(("classifier", "extractor", "drafter", "router", "summariser"))
_V1_PROVIDERS = ("anthropic", "openai", "azure-openai", "local-llama", "mock")
_V2_PROVIDERS = (*_V1_PROVIDERS, "openai-compatible", "offline")


def _identity(providers: tuple[str, ...]) -> Record:
    return _record(provider=Choice(providers), model=_TEXT, version=_TEXT)


def _decision(providers: tuple[str, ...]) -> tuple[Member, ...]:
    """Return the members that every form of a decision has before `prevHash`."""
    return (
        *_OPENING_MEMBERS,
        *_record(
            productId=_TEXT,
            specId=_SPEC_ID,
            specHash=_HASH,
            inputHash=_HASH,
            outputCanonicalHash=_HASH,
            category=_CATEGORY,
            modelIdentity=_identity(providers),
            latencyMs=_COUNT,
            schemaValid=Flag(),
            reviewerVerdict=Nullable(Choice(("approved", "rejected", "amended"))),
            fallbackTriggered=Flag(),
        ).members,
    )


_DECISION_V1 = _form(*_decision(_V1_PROVIDERS), _PREV_HASH, _TENANT)

_DECISION_V2 = _form(
    *_decision(_V2_PROVIDERS),
    _PREV_HASH,
    _TENANT,
    Member("turnId", _ulid("t_"), optional=True),
    Member("callId", _ulid("c_")),
    Member(
        "exitState",
        Choice(
            (
                "ok",
                "ok_amended",
                "fallback_schema",
                "fallback_timeout",
                "fallback_provider",
                "rejected_by_reviewer",
                "failed_closed",
            )
        ),
    ),
    Member("commitment", _COMMITMENT),
    idempotency_key=("callId",),
)

_TURN_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        productId=_TEXT,
        turnId=_ulid("t_"),
        sessionId=_ulid("s_"),
        gateway=Choice(("cli", "dashboard", "telegram", "discord", "whatsapp", "voice", "api")),
        outcome=Choice(("replied", "limit_reached", "cancelled", "failed", "interrupted")),
        iterations=_COUNT,
        inputHash=_HASH,
        replyHash=_HASH,
        model=_record(
            id=_TEXT,
            inputTokens=_COUNT,
            outputTokens=_COUNT,
            cacheReadTokens=_COUNT,
            cacheWriteTokens=_COUNT,
            costMicroUsd=_MONEY,
            estimated=Flag(),
            calls=Rows(_record(kind=_TEXT, n=_COUNT)),
        ),
        tools=Rows(
            _record(tool=_TEXT, provider=_TEXT, status=Choice(("ok", "error")), n=_COUNT, costMicroUsd=Nullable(_MONEY))
        ),
        memory=_record(searches=_COUNT, used=_COUNT, kept=_COUNT, unsent=_COUNT, reportId=Nullable(_TEXT)),
        decisions=IdRange(),
        totalMicroUsd=_MONEY,
        traceHash=_HASH,
        commitment=_COMMITMENT,
    ).members,
    _PREV_HASH,
    _TENANT,
    idempotency_key=("turnId",),
)


_STATE_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(chains=Rows(_record(chain=_CHAIN, size=_COUNT, rootHash=_HASH, headHash=_HASH))).members,
    _PREV_HASH,
    _TENANT,
)

_SPEC_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        productId=_TEXT,
        specId=_SPEC_ID,
        specHash=_HASH,
        category=_CATEGORY,
        modelIdentity=_identity(_V2_PROVIDERS),
        schemaVersion=_TEXT,
        specBytes=_COUNT,
    ).members,
    _PREV_HASH,
    _TENANT,
    idempotency_key=("specHash",),
)

_KEY_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        event=Choice(("created", "rotated", "revoked")),
        use=Choice(("entry", "checkpoint")),
        publicKey=_KEY,
        previousKey=Nullable(_KEY),
        reason=_TEXT,
        chains=Rows(_record(chain=_CHAIN, atId=Integer(1))),
    ).members,
    _PREV_HASH,
    _TENANT,
    Member("previousKeySignature", Base64(SIGNATURE_BYTES), optional=True),
    Member("publicKeySignature", Base64(SIGNATURE_BYTES), optional=True),
)

_BUILD_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        productId=_TEXT,
        buildId=_ulid("b_"),
        version=_TEXT,
        artefacts=Rows(_record(name=_TEXT, digest=_HASH)),
        lockHash=_HASH,
        verifiers=Rows(_record(name=_TEXT, digest=_HASH)),
        promptVersion=_TEXT,
        modelVersion=_TEXT,
        configVersion=_TEXT,
        gateVerdict=Choice(("passed", "failed", "not_run")),
        gateReportHash=Nullable(_HASH),
    ).members,
    _PREV_HASH,
    _TENANT,
    idempotency_key=("buildId",),
)

_CALL_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        productId=_TEXT,
        callId=_ulid("c_"),
        client=_TEXT,
        server=_TEXT,
        tool=_TEXT,
        toolListHash=_HASH,
        argumentsHash=_HASH,
        resultHash=Nullable(_HASH),
        state=Choice(("admitted", "completed", "denied", "failed", "expired")),
        latencyMs=_COUNT,
        commitment=_COMMITMENT,
    ).members,
    _PREV_HASH,
    _TENANT,
    idempotency_key=("callId", "state"),
)

_REVIEW_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        productId=_TEXT,
        reviewId=_ulid("r_"),
        decisionId=Integer(1),
        decisionHash=_HASH,
        callId=_ulid("c_"),
        reviewer=_TEXT,
        verdict=Choice(("approved", "rejected", "amended")),
        outputHash=Nullable(_HASH),
        commentHash=Nullable(_HASH),
        commitment=_COMMITMENT,
    ).members,
    _PREV_HASH,
    _TENANT,
    idempotency_key=("reviewId",),
)

_REGENERATION_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        reason=Choice(("scheduled", "requested", "key_changed")), stateId=Integer(1), chains=_COUNT, entries=_COUNT
    ).members,
    _PREV_HASH,
    _TENANT,
)

_COMPONENT_V2 = _form(
    *_OPENING_MEMBERS,
    *_record(
        productId=_TEXT,
        versionId=_ulid("v_"),
        kind=Choice(("skill", "prompt", "soul", "tool-manifest")),
        name=_TEXT,
        version=_TEXT,
        contentHash=_HASH,
        previousHash=Nullable(_HASH),
        source=_TEXT,
        status=Choice(("seen", "accepted", "refused")),
    ).members,
    _PREV_HASH,
    _TENANT,
    idempotency_key=("versionId",),
)


def _layer(name: str, chain: str, attests: str, filters: str, **forms: Form) -> Layer:
    """Return a row of the table; `filters` are words such as `turnId`, or `model=model.id` where the path differs."""
    words = (word.partition("=") for word in f"{filters} key=attestation.publicKey".split())
    paths = {known: tuple((path or known).split(".")) for known, _, path in words}
    return Layer(name, chain, attests, MappingProxyType(forms), MappingProxyType(paths))


def _table(*layers: Layer) -> Mapping[str, Layer]:
    return MappingProxyType({layer.name: layer for layer in layers})


_SPEC_FILTERS = "specId specHash category provider=modelIdentity.provider model=modelIdentity.model"
_DECISION_FILTERS = f"turnId {_SPEC_FILTERS} exitState verdict=reviewerVerdict"
_CALL_FILTERS = "callId client server tool exitState=state"
_TURN_FILTERS = "turnId sessionId gateway exitState=outcome model=model.id"

LAYERS: Mapping[str, Layer] = _table(
    _layer("L1", "state", "size, root and head of every other chain", "", v2=_STATE_V2),
    _layer("L2", "specs", "a RuntimeAISpec registered", _SPEC_FILTERS, v2=_SPEC_V2),
    _layer("L3", "keys", "a key created, rotated or revoked", "event use", v2=_KEY_V2),
    _layer("L4", "builds", "a release of the product", "version verdict=gateVerdict", v2=_BUILD_V2),
    _layer("L5", "calls", "one tool call served outside a turn", _CALL_FILTERS, v2=_CALL_V2),
    _layer("L6", "reviews", "a reviewer's verdict on a decision", "callId reviewer verdict", v2=_REVIEW_V2),
    _layer("L7", "regenerations", "one run that rebuilt state.json", "reason", v2=_REGENERATION_V2),
    _layer("L10", "turns", "one agent turn's receipt", _TURN_FILTERS, v2=_TURN_V2),
    _layer("L11", "components", "a version of a component", "kind name exitState=status", v2=_COMPONENT_V2),
    _layer("L12", "decisions", "one model call", _DECISION_FILTERS, v1=_DECISION_V1, v2=_DECISION_V2),
)
"""Every layer this build knows, by name."""


def layer(name: str) -> Layer:
    """Return the layer called `name`, for instance `L12`.

    Raises:
        UnsupportedError: this build knows no such layer.
    """
    if name not in LAYERS:
        raise UnsupportedError("layer", f"There is no layer {shown(name)} here; known: {' '.join(LAYERS)}.")
    return LAYERS[name]


def layer_of_chain(chain: str) -> Layer:
    """Return the layer whose entries stand in the chain called `chain`, for instance `decisions`.

    Raises:
        UnsupportedError: this build knows no such chain.
    """
    for candidate in LAYERS.values():
        if candidate.chain == chain:
            return candidate
    known = " ".join(candidate.chain for candidate in LAYERS.values())
    raise UnsupportedError("layer", f"There is no chain {shown(chain)} here; known: {known}.")


def describe_table() -> object:
    """Return the whole table as plain JSON, to be compared with the verifiers' copies."""
    return {
        "attestation": ATTESTATION.describe(),
        "layers": {
            known.name: {
                "chain": known.chain,
                "forms": {name: form.body.describe() for name, form in known.forms.items()},
            }
            for known in LAYERS.values()
        },
    }
