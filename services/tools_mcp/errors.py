"""Errors of the tool servers; every message is one sentence for a tool caller.

ToolsError                     base (a ServiceError: its words may be shown)
├── InvalidInputError          an argument cannot be used as it is; the sentence says what to send instead
├── NotFoundError              no event or note has this id or title
├── ConflictError              it is there already, or it changed since it was read
│   └── ChangedError           another program changed it between our look and our write
└── StoreError                 the folder cannot be read or written; nothing was changed
    └── StoreBusyError         other processes kept the folder locked for too long
"""

from service_runtime.errors import ServiceError


class ToolsError(ServiceError):
    """Base of every refusal of a tool server."""


class InvalidInputError(ToolsError):
    """An argument cannot be used as it is; nothing was stored."""


class NotFoundError(ToolsError):
    """No event or note has this id or title; nothing was changed."""


class ConflictError(ToolsError):
    """The store holds something that speaks against this write; nothing was changed."""


class ChangedError(ConflictError):
    """Another program changed it between our look and our write; nothing was changed, and trying again can help."""


class StoreError(ToolsError):
    """The folder cannot be read or written; nothing was changed."""


class StoreBusyError(StoreError):
    """Another process or thread kept the folder locked for longer than we wait; nothing was changed."""
