"""Claude through Anthropic's own SDK.

`wire` turns the seam's values into the Messages API's JSON and back (pure); `sdk` is the only module that imports the
SDK, and is imported at the first call; `provider` streams.
"""

from agent_host.providers.anthropic.provider import DEFAULT_MODEL, AnthropicProvider

__all__ = ["DEFAULT_MODEL", "AnthropicProvider"]
