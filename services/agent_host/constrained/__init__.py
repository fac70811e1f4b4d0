"""Model calls under a typed contract, one L12 entry each: define a spec, call one function (constrained-ai.md).

Read `call` first. `spec` and `spec_rules` are the contract, `asking` is the model's side of a call, `reviewing` a
person's, `concluding` and `recording` the ledger's.
"""

from agent_host.constrained.call import run_constrained_ai
from agent_host.constrained.loading import load_spec, spec_from_yaml
from agent_host.constrained.options import CallOptions, Decision, ReviewCase, Ruling
from agent_host.constrained.spec import RuntimeAISpec
from agent_host.constrained.specs import shipped_spec

__all__ = [
    "CallOptions",
    "Decision",
    "ReviewCase",
    "Ruling",
    "RuntimeAISpec",
    "load_spec",
    "run_constrained_ai",
    "shipped_spec",
    "spec_from_yaml",
]
