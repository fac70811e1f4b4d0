"""Errors of the receipt writer.

ServiceError
└── ReceiptError                    base; the message is one sentence for the caller or the person
    ├── DraftRefusedError           the draft breaks the schema                               INVALID_ARGUMENT
    ├── RequestRefusedError         a filter, id or size makes no sense                       INVALID_ARGUMENT
    ├── AlreadyRecordedError        the same turnId or callId was recorded with other fields  ALREADY_EXISTS
    ├── EntryNotFoundError          no such entry                                             NOT_FOUND
    ├── NotPossibleYetError         the request cannot be met in this state                   FAILED_PRECONDITION
    ├── CredentialRefusedError      the caller's token names no tenant, or is missing         UNAUTHENTICATED
    ├── NotAllowedError             this caller may append and read, but not change keys      PERMISSION_DENIED
    ├── QueueFullError              more work waits than the writer takes                     RESOURCE_EXHAUSTED
    ├── OutOfHandlesError           no file could be opened for now; nothing was changed      UNAVAILABLE
    ├── WriterStoppedError          the writer drains, or stopped after a storage failure     UNAVAILABLE
    ├── StorageFailedError          a write or sync failed, which ends the process; or a read UNAVAILABLE
    │   └── TakenOverError          another writer took the chains over, which ends the process
    ├── WriterCallError             a running writer refused the command line's call; its own words
    └── LedgerDamagedError          on disk is not what was committed: no start (exit 1)         DATA_LOSS
        └── LedgerBehindError       entries are missing that a signed mark says were there
SetupError                          cannot start, one line on stderr, exit 2
├── KeyFileError                    a key file is missing, readable by others, or no key
├── FolderInUseError                another writer owns the chains
└── ListenError                     the address cannot be listened on
"""

from collections.abc import Mapping
from types import MappingProxyType

from service_runtime.errors import ServiceError, SetupError


class ReceiptError(ServiceError):
    """Base of what the writer reports. The message says what happened, to which id, and what to do next.

    Attributes:
        about: The same for a program, by name: for instance the `id` to go on from. The caller knows all of it.
    """

    about: Mapping[str, str] = MappingProxyType({})


class DraftRefusedError(ReceiptError):
    """The draft breaks the schema; the message names the field."""


class RequestRefusedError(ReceiptError):
    """A filter, id or size of a request makes no sense; sending it again changes nothing."""


class AlreadyRecordedError(ReceiptError):
    """The idempotency key is taken by a record with other fields; the first record stands."""


class EntryNotFoundError(ReceiptError):
    """The chain holds no such entry."""


class NotPossibleYetError(ReceiptError):
    """The request cannot be met in this state of the ledger, for instance a report of a turn that never began."""


class CredentialRefusedError(ReceiptError):
    """The caller's token names no tenant here, or one is required and there is none."""


class NotAllowedError(ReceiptError):
    """This caller may append and read, but not do this: it came over the network without a token."""


class OutOfHandlesError(ReceiptError):
    """The process or the system has no file handle left: a file beside the chains could not be written for now.

    Nothing of a chain was touched, so the same work is safe to do again, and the writer does.
    """


class QueueFullError(ReceiptError):
    """More appends wait than the queue takes; nothing was recorded.

    Attributes:
        retry_after_ms: When it makes sense to try again.
    """

    def __init__(self, message: str, retry_after_ms: int) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class WriterStoppedError(ReceiptError):
    """The writer drains or has stopped; whether the append happened is known only after asking again with its key."""


class StorageFailedError(ReceiptError):
    """The storage refused. A write or sync that failed is final: nobody knows then what the disk holds.

    A read that failed while serving, for instance for want of file handles, concerns its own caller only.
    """


class TakenOverError(StorageFailedError):
    """Another writer took the chains over by its operator's word; this one acknowledges nothing more."""


class WriterCallError(ReceiptError):
    """A running writer refused a call of the command line, or did not answer; the message is the writer's own."""


class LedgerDamagedError(ReceiptError):
    """Committed bytes are not what was committed; the writer does not start on them and changes nothing."""


class LedgerBehindError(LedgerDamagedError):
    """The chain is shorter than a signed head or checkpoint: entries were cut off or an old copy was put back."""


class KeyFileError(SetupError):
    """A key file is missing, can be read by others, belongs to somebody else, or holds no key."""


class FolderInUseError(SetupError):
    """Another writer process owns this chain folder."""


class ListenError(SetupError):
    """The address is malformed, taken, or cannot be listened on."""
