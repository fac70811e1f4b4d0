"""The names of what we export, pinned to OpenTelemetry's conventions for GenAI and MCP, v0.1.0 (all "Development").

The constants on the package index lag behind them and are marked as moved. What the conventions have no name for is
called `prometheus.…`.
"""

from __future__ import annotations

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
TOOL: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
MEMORY_STORE: Final = "gen_ai.memory.store.id"
MEMORY_QUERY: Final = "gen_ai.memory.query.text"
MEMORY_COUNT: Final = "gen_ai.memory.record.count"
MCP_METHOD: Final = "mcp.method.name"
ERROR_TYPE: Final = "error.type"

TURN_ID: Final = "prometheus.turn_id"
GATEWAY: Final = "prometheus.gateway"
OUTCOME: Final = "prometheus.outcome"
ITERATIONS: Final = "prometheus.iterations"
TURN_COST: Final = "prometheus.turn.cost.usd"
COST: Final = "prometheus.cost.usd"
CALL_KIND: Final = "prometheus.call.kind"
CALL_ID: Final = "prometheus.call.id"
EXIT_STATE: Final = "prometheus.call.exit_state"
ENTRY_ID: Final = "prometheus.receipt.entry_id"
ENTRY_HASH: Final = "prometheus.receipt.entry_hash"
QUEUED: Final = "prometheus.receipt.queued"
SERVER: Final = "prometheus.tool.server"
ENDPOINT: Final = "prometheus.tool.endpoint_id"
ANSWERED_BY: Final = "prometheus.tool.provider"
READ_FIRST: Final = "prometheus.tool.read_first"
GATED: Final = "prometheus.tool.gated"
RETRIEVAL_TRACE: Final = "prometheus.memory.retrieval_trace_id"
GRANTED: Final = "prometheus.permission.granted"
GATE: Final = "prometheus.gate.decision"
BATCH_ID: Final = "prometheus.consolidation.batch_id"
EXCHANGES: Final = "prometheus.consolidation.exchanges"
KEPT: Final = "prometheus.consolidation.kept"
