"""The search server: web search through one seam, with a keyless and a SearXNG provider."""
