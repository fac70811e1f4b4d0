"""The `offline` provider: a rule-based stand-in that plans tool calls for everyday requests. It is no language model.

Read `planner` first. A message becomes requests (`recognition`, `splitting`, each subject's `intents`), a request runs
as a routine (`routine`, each subject's requests) over the tool results the conversation holds, and its answer is the
reply. `times` reads ordinary English for dates.
"""

from __future__ import annotations

from agent_host.providers.offline.provider import OfflineProvider
from agent_host.providers.offline.talk.about import FIRST_SCREEN

__all__ = ["FIRST_SCREEN", "OfflineProvider"]
