"""Any model behind OpenAI's chat completions: OpenAI itself, Ollama, llama.cpp, LM Studio, OpenRouter.

`wire` turns the seam's values into the API's JSON and `reading` turns replies back (both pure); `sdk` is the only
module that imports OpenAI's SDK, and is imported at the first call; `provider` streams.
"""

from agent_host.providers.openai_compatible.endpoint import checked_endpoint, shown_host, takes_openai_key
from agent_host.providers.openai_compatible.provider import OpenAiCompatibleProvider

__all__ = ["OpenAiCompatibleProvider", "checked_endpoint", "shown_host", "takes_openai_key"]
