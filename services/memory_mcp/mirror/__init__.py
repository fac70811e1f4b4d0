"""The mirrors of the store for people: MEMORY.md and a file per fact, as Claude Code keeps them."""
