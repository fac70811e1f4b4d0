"""Where the disk's errors become the one sentence a tool caller may read."""

import contextlib
from collections.abc import Iterator

from tools_mcp.errors import StoreError


@contextlib.contextmanager
def as_store_error(folder: str, verb: str) -> Iterator[None]:
    """Turn an error of the operating system in the block into a `StoreError`; `folder` is a name, never a path.

    Raises:
        StoreError: The block failed on the disk.
    """
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "the disk failed").lower()
        raise StoreError(f"The {folder} folder cannot be {verb}: {reason}; nothing was changed.") from error
