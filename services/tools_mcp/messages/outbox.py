"""The outbox: a folder of drafts. Nothing here sends, and no draft is ever overwritten."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from service_runtime.home import secure_write
from service_runtime.settings import Settings
from tools_mcp.disk import as_store_error
from tools_mcp.errors import ConflictError, InvalidInputError, NotFoundError
from tools_mcp.locking import FolderLock
from tools_mcp.messages.addresses import mailbox
from tools_mcp.messages.files import SUFFIXES, decode, encode, file_stem, is_kept
from tools_mcp.messages.model import Channel, Draft, Kept, Status
from tools_mcp.texts import many_lines, one_line, shown

MOST_TO = 50
MOST_BODY = 50_000

_MOST_ADDRESS, _MOST_SUBJECT = 320, 300
_MOST_FILE_BYTES = 1_000_000
_TRASH, _STATE = ".trash", ".prometheus"
_FOLDER = "messages"


@dataclass(frozen=True)
class Asked:
    """What a caller wants drafted, as it came."""

    to: Sequence[str]
    subject: str | None
    body: str
    channel: Channel


@dataclass(frozen=True)
class Outbox:
    """The drafts of one person; several processes may use it at once."""

    root: Path
    zone: ZoneInfo
    now: Callable[[], datetime]
    lock: FolderLock

    def draft(self, asked: Asked, key: str | None) -> tuple[Status, Kept]:
        """Write a draft, or find the one that the same call with this idempotency key made before.

        Raises:
            InvalidInputError: A recipient, the subject or the body cannot be used.
            ConflictError: The key made another draft, or one that was discarded since.
            StoreError: The folder cannot be written.
        """
        draft = self._made(asked, key)
        content = encode(draft)
        if not is_kept(draft, content):
            raise InvalidInputError("The message cannot be kept as it is; send plainer text in to, subject and body.")
        with self.lock.held():
            if draft.request:
                earlier = self._earlier(draft)
                if earlier:
                    return "exists", earlier
            message_id = self._unused(file_stem(draft))
            with as_store_error(_FOLDER, "written"):
                secure_write(self.root / f"{message_id}{SUFFIXES[draft.channel]}", content)
        return "drafted", Kept(message_id, draft)

    def newest(self) -> list[Kept]:
        """Return every draft, the newest first.

        Raises:
            StoreError: The folder cannot be read.
        """
        return sorted(self._kept(self.root), key=lambda kept: (kept.draft.created_at, kept.id), reverse=True)

    def discard(self, message_id: str) -> Kept:
        """Move a draft to `.trash`, from where a person can take it back; one that lies there stays there.

        Raises:
            NotFoundError: There is no such draft.
            StoreError: The folder cannot be written.
        """
        trash = self.root / _TRASH
        with self.lock.held():
            kept = self._find(self.root, message_id)
            if kept is not None:
                name = f"{kept.id}{SUFFIXES[kept.draft.channel]}"
                with as_store_error(_FOLDER, "written"):
                    trash.mkdir(mode=0o700, exist_ok=True)
                    (self.root / name).rename(trash / name)
            found = kept or self._find(trash, message_id)
        if found is None:
            raise NotFoundError(f"The outbox has no message {shown(message_id)}; message_list tells the ids there are.")
        return found

    def _find(self, folder: Path, message_id: str) -> Kept | None:
        return next((one for one in self._kept(folder) if one.id == message_id), None)

    def _made(self, asked: Asked, key: str | None) -> Draft:
        recipients = tuple(one_line(one, "to", _MOST_ADDRESS) for one in asked.to)
        if not recipients or not all(recipients):
            raise InvalidInputError("A message needs somebody to go to; send to with at least one name or address.")
        for one in recipients:
            _check_recipient(one, asked.channel)
        subject = one_line(asked.subject or "", "subject", _MOST_SUBJECT)
        body = many_lines(asked.body, "body", MOST_BODY).strip("\n")
        if not body.strip():
            raise InvalidInputError("The message has no text; send it in body.")
        request = hashlib.sha256(key.encode(errors="replace")).hexdigest() if key else ""
        return Draft(asked.channel, recipients, subject, body, self.now().replace(microsecond=0), request)

    def _earlier(self, draft: Draft) -> Kept | None:
        for folder in (self.root, self.root / _TRASH):
            for kept in self._kept(folder):
                if kept.draft.request != draft.request:
                    continue
                same = (kept.draft.channel, kept.draft.to, kept.draft.subject, kept.draft.body)
                if same != (draft.channel, draft.to, draft.subject, draft.body):
                    raise ConflictError("This idempotency_key made another message; send a new key for a new message.")
                if folder != self.root:
                    raise ConflictError("The message that this idempotency_key made was discarded; send a new key.")
                return kept
        return None

    def _unused(self, stem: str) -> str:
        with as_store_error(_FOLDER, "read"):
            taken = {path.stem.casefold() for folder in (self.root, self.root / _TRASH) for path in _files(folder)}
        names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 100_000))
        return next(name for name in names if name.casefold() not in taken)

    def _kept(self, folder: Path) -> Iterator[Kept]:
        with as_store_error(_FOLDER, "read"):
            for path in _files(folder):
                if path.stat().st_size > _MOST_FILE_BYTES:
                    continue
                draft = decode(path.read_bytes(), path.suffix)
                if draft is not None:
                    yield Kept(path.stem, draft)


def open_outbox(settings: Settings) -> Outbox:
    """Open the outbox of a home, making its folder when there is none.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
    """
    root, zone = settings.home.folder(_FOLDER), settings.zone()
    settings.home.folder(f"{_FOLDER}/{_STATE}")
    lock = FolderLock(root / _STATE / "lock", _FOLDER)
    return Outbox(root, zone, lambda: datetime.now(zone), lock)


def check(settings: Settings) -> str:
    """Read every draft and say in one sentence what is there.

    Raises:
        SetupError: The home cannot be written or the configured zone is unknown.
        StoreError: The folder cannot be read.
    """
    return f"messages: {len(open_outbox(settings).newest())} drafts, none sent"


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    suffixes = set(SUFFIXES.values())
    return [path for path in folder.iterdir() if path.suffix in suffixes and path.is_file() and not path.is_symlink()]


def _check_recipient(text: str, channel: Channel) -> None:
    if mailbox(text) is not None:
        return
    if "," in text:
        raise InvalidInputError("A recipient has a comma in it; send each one as an item of its own in to.")
    if channel == "email" and "@" in text:
        raise InvalidInputError(f"{shown(text)} in to is no e-mail address; send name@host or Name <name@host>.")
