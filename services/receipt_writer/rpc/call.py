"""The type of a call's context, whose arguments only the type checker knows."""

from typing import Any, TypeAlias

import grpc.aio

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
"""One call, as its behaviour sees it: deadline, metadata, and where a stream's messages are read and written."""
