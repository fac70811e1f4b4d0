from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Layer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LAYER_UNSPECIFIED: _ClassVar[Layer]
    LAYER_L1_STATE: _ClassVar[Layer]
    LAYER_L2_SPECS: _ClassVar[Layer]
    LAYER_L3_KEYS: _ClassVar[Layer]
    LAYER_L4_BUILDS: _ClassVar[Layer]
    LAYER_L5_CALLS: _ClassVar[Layer]
    LAYER_L6_REVIEWS: _ClassVar[Layer]
    LAYER_L7_REGENERATIONS: _ClassVar[Layer]
    LAYER_L10_TURNS: _ClassVar[Layer]
    LAYER_L11_COMPONENTS: _ClassVar[Layer]
    LAYER_L12_DECISIONS: _ClassVar[Layer]

class KeyUse(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_USE_UNSPECIFIED: _ClassVar[KeyUse]
    KEY_USE_ENTRY: _ClassVar[KeyUse]
    KEY_USE_CHECKPOINT: _ClassVar[KeyUse]
LAYER_UNSPECIFIED: Layer
LAYER_L1_STATE: Layer
LAYER_L2_SPECS: Layer
LAYER_L3_KEYS: Layer
LAYER_L4_BUILDS: Layer
LAYER_L5_CALLS: Layer
LAYER_L6_REVIEWS: Layer
LAYER_L7_REGENERATIONS: Layer
LAYER_L10_TURNS: Layer
LAYER_L11_COMPONENTS: Layer
LAYER_L12_DECISIONS: Layer
KEY_USE_UNSPECIFIED: KeyUse
KEY_USE_ENTRY: KeyUse
KEY_USE_CHECKPOINT: KeyUse

class Entry(_message.Message):
    __slots__ = ("layer", "id", "line", "hash", "recorded_at_ms")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    id: int
    line: str
    hash: str
    recorded_at_ms: int
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., id: _Optional[int] = ..., line: _Optional[str] = ..., hash: _Optional[str] = ..., recorded_at_ms: _Optional[int] = ...) -> None: ...

class BeginTurnRequest(_message.Message):
    __slots__ = ("turn_id", "session_id", "gateway", "product_id", "input_hash", "commitment", "model_id", "deadline_ms")
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    GATEWAY_FIELD_NUMBER: _ClassVar[int]
    PRODUCT_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    session_id: str
    gateway: str
    product_id: str
    input_hash: str
    commitment: str
    model_id: str
    deadline_ms: int
    def __init__(self, turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., gateway: _Optional[str] = ..., product_id: _Optional[str] = ..., input_hash: _Optional[str] = ..., commitment: _Optional[str] = ..., model_id: _Optional[str] = ..., deadline_ms: _Optional[int] = ...) -> None: ...

class BeginTurnResponse(_message.Message):
    __slots__ = ("started_at_ms",)
    STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    started_at_ms: int
    def __init__(self, started_at_ms: _Optional[int] = ...) -> None: ...

class TurnDraft(_message.Message):
    __slots__ = ("product_id", "turn_id", "session_id", "gateway", "outcome", "iterations", "input_hash", "reply_hash", "model", "tools", "memory", "decisions", "total_micro_usd", "trace_hash", "commitment")
    PRODUCT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    GATEWAY_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    REPLY_HASH_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_MICRO_USD_FIELD_NUMBER: _ClassVar[int]
    TRACE_HASH_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    product_id: str
    turn_id: str
    session_id: str
    gateway: str
    outcome: str
    iterations: int
    input_hash: str
    reply_hash: str
    model: ModelUsage
    tools: _containers.RepeatedCompositeFieldContainer[ToolUsage]
    memory: MemoryUsage
    decisions: DecisionRange
    total_micro_usd: int
    trace_hash: str
    commitment: str
    def __init__(self, product_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., gateway: _Optional[str] = ..., outcome: _Optional[str] = ..., iterations: _Optional[int] = ..., input_hash: _Optional[str] = ..., reply_hash: _Optional[str] = ..., model: _Optional[_Union[ModelUsage, _Mapping]] = ..., tools: _Optional[_Iterable[_Union[ToolUsage, _Mapping]]] = ..., memory: _Optional[_Union[MemoryUsage, _Mapping]] = ..., decisions: _Optional[_Union[DecisionRange, _Mapping]] = ..., total_micro_usd: _Optional[int] = ..., trace_hash: _Optional[str] = ..., commitment: _Optional[str] = ...) -> None: ...

class ModelUsage(_message.Message):
    __slots__ = ("id", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_micro_usd", "estimated", "calls")
    ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_READ_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_MICRO_USD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    id: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_micro_usd: int
    estimated: bool
    calls: _containers.RepeatedCompositeFieldContainer[CallCount]
    def __init__(self, id: _Optional[str] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cache_read_tokens: _Optional[int] = ..., cache_write_tokens: _Optional[int] = ..., cost_micro_usd: _Optional[int] = ..., estimated: _Optional[bool] = ..., calls: _Optional[_Iterable[_Union[CallCount, _Mapping]]] = ...) -> None: ...

class CallCount(_message.Message):
    __slots__ = ("kind", "n")
    KIND_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    kind: str
    n: int
    def __init__(self, kind: _Optional[str] = ..., n: _Optional[int] = ...) -> None: ...

class ToolUsage(_message.Message):
    __slots__ = ("tool", "provider", "status", "n", "cost_micro_usd")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    COST_MICRO_USD_FIELD_NUMBER: _ClassVar[int]
    tool: str
    provider: str
    status: str
    n: int
    cost_micro_usd: int
    def __init__(self, tool: _Optional[str] = ..., provider: _Optional[str] = ..., status: _Optional[str] = ..., n: _Optional[int] = ..., cost_micro_usd: _Optional[int] = ...) -> None: ...

class MemoryUsage(_message.Message):
    __slots__ = ("searches", "used", "kept", "unsent", "report_id")
    SEARCHES_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    UNSENT_FIELD_NUMBER: _ClassVar[int]
    REPORT_ID_FIELD_NUMBER: _ClassVar[int]
    searches: int
    used: int
    kept: int
    unsent: int
    report_id: str
    def __init__(self, searches: _Optional[int] = ..., used: _Optional[int] = ..., kept: _Optional[int] = ..., unsent: _Optional[int] = ..., report_id: _Optional[str] = ...) -> None: ...

class DecisionRange(_message.Message):
    __slots__ = ("n", "first_id", "last_id")
    N_FIELD_NUMBER: _ClassVar[int]
    FIRST_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_ID_FIELD_NUMBER: _ClassVar[int]
    n: int
    first_id: int
    last_id: int
    def __init__(self, n: _Optional[int] = ..., first_id: _Optional[int] = ..., last_id: _Optional[int] = ...) -> None: ...

class AppendTurnRequest(_message.Message):
    __slots__ = ("draft",)
    DRAFT_FIELD_NUMBER: _ClassVar[int]
    draft: TurnDraft
    def __init__(self, draft: _Optional[_Union[TurnDraft, _Mapping]] = ...) -> None: ...

class AppendTurnResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class DecisionDraft(_message.Message):
    __slots__ = ("product_id", "spec_id", "spec_hash", "input_hash", "output_canonical_hash", "category", "model_identity", "latency_ms", "schema_valid", "reviewer_verdict", "fallback_triggered", "turn_id", "call_id", "exit_state", "commitment")
    PRODUCT_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_HASH_FIELD_NUMBER: _ClassVar[int]
    INPUT_HASH_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_CANONICAL_HASH_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    MODEL_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    LATENCY_MS_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VALID_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_VERDICT_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_TRIGGERED_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    EXIT_STATE_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    product_id: str
    spec_id: str
    spec_hash: str
    input_hash: str
    output_canonical_hash: str
    category: str
    model_identity: ModelIdentity
    latency_ms: int
    schema_valid: bool
    reviewer_verdict: str
    fallback_triggered: bool
    turn_id: str
    call_id: str
    exit_state: str
    commitment: str
    def __init__(self, product_id: _Optional[str] = ..., spec_id: _Optional[str] = ..., spec_hash: _Optional[str] = ..., input_hash: _Optional[str] = ..., output_canonical_hash: _Optional[str] = ..., category: _Optional[str] = ..., model_identity: _Optional[_Union[ModelIdentity, _Mapping]] = ..., latency_ms: _Optional[int] = ..., schema_valid: _Optional[bool] = ..., reviewer_verdict: _Optional[str] = ..., fallback_triggered: _Optional[bool] = ..., turn_id: _Optional[str] = ..., call_id: _Optional[str] = ..., exit_state: _Optional[str] = ..., commitment: _Optional[str] = ...) -> None: ...

class ModelIdentity(_message.Message):
    __slots__ = ("provider", "model", "version")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    version: str
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class AppendDecisionRequest(_message.Message):
    __slots__ = ("draft",)
    DRAFT_FIELD_NUMBER: _ClassVar[int]
    draft: DecisionDraft
    def __init__(self, draft: _Optional[_Union[DecisionDraft, _Mapping]] = ...) -> None: ...

class AppendDecisionResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class AppendRequest(_message.Message):
    __slots__ = ("layer", "draft_json")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    DRAFT_JSON_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    draft_json: str
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., draft_json: _Optional[str] = ...) -> None: ...

class AppendResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class AppendStreamRequest(_message.Message):
    __slots__ = ("tag", "begin", "turn", "decision", "other")
    TAG_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    tag: int
    begin: BeginTurnRequest
    turn: TurnDraft
    decision: DecisionDraft
    other: AppendRequest
    def __init__(self, tag: _Optional[int] = ..., begin: _Optional[_Union[BeginTurnRequest, _Mapping]] = ..., turn: _Optional[_Union[TurnDraft, _Mapping]] = ..., decision: _Optional[_Union[DecisionDraft, _Mapping]] = ..., other: _Optional[_Union[AppendRequest, _Mapping]] = ...) -> None: ...

class AppendStreamResponse(_message.Message):
    __slots__ = ("tag", "entry", "started", "status")
    TAG_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    tag: int
    entry: Entry
    started: BeginTurnResponse
    status: _status_pb2.Status
    def __init__(self, tag: _Optional[int] = ..., entry: _Optional[_Union[Entry, _Mapping]] = ..., started: _Optional[_Union[BeginTurnResponse, _Mapping]] = ..., status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class GetEntryRequest(_message.Message):
    __slots__ = ("layer", "id")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    id: int
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., id: _Optional[int] = ...) -> None: ...

class GetEntryResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ("layer", "from_id", "to_id", "turn_id", "session_id", "spec_id", "recorded_from_ms", "recorded_to_ms", "newest_first", "limit", "category", "exit_state", "model", "key", "members")
    class MembersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LAYER_FIELD_NUMBER: _ClassVar[int]
    FROM_ID_FIELD_NUMBER: _ClassVar[int]
    TO_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SPEC_ID_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FROM_MS_FIELD_NUMBER: _ClassVar[int]
    RECORDED_TO_MS_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    EXIT_STATE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    from_id: int
    to_id: int
    turn_id: str
    session_id: str
    spec_id: str
    recorded_from_ms: int
    recorded_to_ms: int
    newest_first: bool
    limit: int
    category: str
    exit_state: str
    model: str
    key: str
    members: _containers.ScalarMap[str, str]
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., from_id: _Optional[int] = ..., to_id: _Optional[int] = ..., turn_id: _Optional[str] = ..., session_id: _Optional[str] = ..., spec_id: _Optional[str] = ..., recorded_from_ms: _Optional[int] = ..., recorded_to_ms: _Optional[int] = ..., newest_first: _Optional[bool] = ..., limit: _Optional[int] = ..., category: _Optional[str] = ..., exit_state: _Optional[str] = ..., model: _Optional[str] = ..., key: _Optional[str] = ..., members: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ListEntriesResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class GetHeadRequest(_message.Message):
    __slots__ = ("layer",)
    LAYER_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ...) -> None: ...

class GetHeadResponse(_message.Message):
    __slots__ = ("size", "hash", "origin")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    size: int
    hash: str
    origin: str
    def __init__(self, size: _Optional[int] = ..., hash: _Optional[str] = ..., origin: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("layer", "from_id")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    FROM_ID_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    from_id: int
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., from_id: _Optional[int] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("entry", "checkpoint")
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    checkpoint: GetCheckpointResponse
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ..., checkpoint: _Optional[_Union[GetCheckpointResponse, _Mapping]] = ...) -> None: ...

class GetCheckpointRequest(_message.Message):
    __slots__ = ("layer", "fresh")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    FRESH_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    fresh: bool
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., fresh: _Optional[bool] = ...) -> None: ...

class GetCheckpointResponse(_message.Message):
    __slots__ = ("note", "size")
    NOTE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    note: str
    size: int
    def __init__(self, note: _Optional[str] = ..., size: _Optional[int] = ...) -> None: ...

class ProveInclusionRequest(_message.Message):
    __slots__ = ("layer", "id", "size")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    id: int
    size: int
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., id: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class ProveInclusionResponse(_message.Message):
    __slots__ = ("size", "leaf_hash", "path", "root_hash")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    LEAF_HASH_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ROOT_HASH_FIELD_NUMBER: _ClassVar[int]
    size: int
    leaf_hash: bytes
    path: _containers.RepeatedScalarFieldContainer[bytes]
    root_hash: bytes
    def __init__(self, size: _Optional[int] = ..., leaf_hash: _Optional[bytes] = ..., path: _Optional[_Iterable[bytes]] = ..., root_hash: _Optional[bytes] = ...) -> None: ...

class ProveConsistencyRequest(_message.Message):
    __slots__ = ("layer", "from_size", "to_size")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    FROM_SIZE_FIELD_NUMBER: _ClassVar[int]
    TO_SIZE_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    from_size: int
    to_size: int
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ..., from_size: _Optional[int] = ..., to_size: _Optional[int] = ...) -> None: ...

class ProveConsistencyResponse(_message.Message):
    __slots__ = ("path", "from_root", "to_root")
    PATH_FIELD_NUMBER: _ClassVar[int]
    FROM_ROOT_FIELD_NUMBER: _ClassVar[int]
    TO_ROOT_FIELD_NUMBER: _ClassVar[int]
    path: _containers.RepeatedScalarFieldContainer[bytes]
    from_root: bytes
    to_root: bytes
    def __init__(self, path: _Optional[_Iterable[bytes]] = ..., from_root: _Optional[bytes] = ..., to_root: _Optional[bytes] = ...) -> None: ...

class GetStateRequest(_message.Message):
    __slots__ = ("fresh",)
    FRESH_FIELD_NUMBER: _ClassVar[int]
    fresh: bool
    def __init__(self, fresh: _Optional[bool] = ...) -> None: ...

class GetStateResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class RotateKeyRequest(_message.Message):
    __slots__ = ("use", "previous_key", "reason")
    USE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    use: KeyUse
    previous_key: str
    reason: str
    def __init__(self, use: _Optional[_Union[KeyUse, str]] = ..., previous_key: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RotateKeyResponse(_message.Message):
    __slots__ = ("entry", "public_key")
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    public_key: str
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ..., public_key: _Optional[str] = ...) -> None: ...

class RevokeKeyRequest(_message.Message):
    __slots__ = ("use", "public_key", "reason", "at_ids")
    class AtIdsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    USE_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AT_IDS_FIELD_NUMBER: _ClassVar[int]
    use: KeyUse
    public_key: str
    reason: str
    at_ids: _containers.ScalarMap[str, int]
    def __init__(self, use: _Optional[_Union[KeyUse, str]] = ..., public_key: _Optional[str] = ..., reason: _Optional[str] = ..., at_ids: _Optional[_Mapping[str, int]] = ...) -> None: ...

class RevokeKeyResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class VerifyChainRequest(_message.Message):
    __slots__ = ("layer",)
    LAYER_FIELD_NUMBER: _ClassVar[int]
    layer: Layer
    def __init__(self, layer: _Optional[_Union[Layer, str]] = ...) -> None: ...

class VerifyChainResponse(_message.Message):
    __slots__ = ("progress", "summary")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    progress: CheckProgress
    summary: CheckSummary
    def __init__(self, progress: _Optional[_Union[CheckProgress, _Mapping]] = ..., summary: _Optional[_Union[CheckSummary, _Mapping]] = ...) -> None: ...

class CheckProgress(_message.Message):
    __slots__ = ("done_bytes", "total_bytes")
    DONE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    done_bytes: int
    total_bytes: int
    def __init__(self, done_bytes: _Optional[int] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class CheckSummary(_message.Message):
    __slots__ = ("good", "entries", "head_hash", "checkpoint_size", "fault", "disowned")
    GOOD_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_SIZE_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    DISOWNED_FIELD_NUMBER: _ClassVar[int]
    good: bool
    entries: int
    head_hash: str
    checkpoint_size: int
    fault: str
    disowned: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, good: _Optional[bool] = ..., entries: _Optional[int] = ..., head_hash: _Optional[str] = ..., checkpoint_size: _Optional[int] = ..., fault: _Optional[str] = ..., disowned: _Optional[_Iterable[str]] = ...) -> None: ...
