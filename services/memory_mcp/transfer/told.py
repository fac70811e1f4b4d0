"""What an import came to, in words. Pure."""

from __future__ import annotations

from memory_mcp.transfer.taking_in import Taken

SHOWN_SKIPPED = 50


def import_text(done: Taken) -> str:
    """Says what came of an import."""
    what = "Would be imported" if done.dry_run else "Imported"
    parts = [f"{what} as {done.format}: {len(done.new)} new, {len(done.updated)} updated, {done.known} known already."]
    if done.skipped:
        parts.append(f"{len(done.skipped)} left out:")
        parts += [f"{one.where}: {one.reason}" for one in done.skipped[:SHOWN_SKIPPED]]
        if len(done.skipped) > SHOWN_SKIPPED:
            parts.append(f"… and {len(done.skipped) - SHOWN_SKIPPED} more")
    return "\n".join(parts)
