"""The intent journal's rows: a turn that began, and the entry key's signature, so that nobody else begins one.

The signature binds the origin of the turns chain and everything the `interrupted` entry would be made of. It does not
tell of a row that somebody takes out: `docs/explanation/durability.md` says what that means.
"""

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from receipt_writer.format.signing import Signer, pae, verify
from receipt_writer.intents import Intent, decode_intent, encode_intent

_KIND = "application/vnd.prometheus.intent+json;origin="
_SIGNATURE = b',"signature":"'
_BEGINNING = b'{"turnId":"'
_TURN_ID_CHARACTERS = 28


@dataclass
class Journal:
    """What a journal says of turns that are not recorded yet.

    Attributes:
        intents: The turns that began, by id.
        rows: Their rows, as far as the key in force signed them; others are to be signed anew.
        refused: Rows that nobody who may begin turns has written, or that are damaged.
        unsigned: How many of the turns come from unsigned rows, which a former version wrote.
    """

    intents: dict[str, Intent] = field(default_factory=dict)
    rows: dict[str, bytes] = field(default_factory=dict)
    refused: list[bytes] = field(default_factory=list)
    unsigned: int = 0


def sign_row(intent: Intent, origin: str, signer: Signer) -> bytes:
    """Return the journal's row of a turn that began, without its line break; `origin` is the turns chain's."""
    body = encode_intent(intent)
    signature = base64.b64encode(signer.sign(pae(_KIND + origin, body)))
    return body[:-1] + _SIGNATURE + signature + b'"}'


def read_journal(
    lines: Sequence[bytes],
    origin: str,
    keys: Sequence[bytes],
    is_recorded: Callable[[str], bool],
    *,
    takes_unsigned: bool,
) -> Journal:
    """Return what a journal's lines say; rows of recorded turns are passed over unread, since most are of those.

    The first of `keys` is the key in force; the others count, too. With `takes_unsigned`, rows without a signature
    count as long as no row has one: the journal of a former version.
    """
    takes_unsigned = takes_unsigned and not any(_SIGNATURE in line for line in lines)
    found = Journal()
    for line in _open_rows(lines, is_recorded):
        body, key = _signed_body(line, origin, keys)
        is_former = takes_unsigned and key is None
        intent = decode_intent(line if is_former else body, is_ours=not is_former) if key or is_former else None
        if intent is None:
            found.refused.append(line)
            continue
        found.unsigned += is_former
        found.intents[intent.turn_id] = intent
        if key == keys[0]:
            found.rows[intent.turn_id] = line
    return found


def _open_rows(lines: Iterable[bytes], is_recorded: Callable[[str], bool]) -> Iterable[bytes]:
    start = len(_BEGINNING)
    for line in lines:
        turn_id = line[start : start + _TURN_ID_CHARACTERS].decode("ascii", "replace")
        if not (line.startswith(_BEGINNING) and is_recorded(turn_id)):
            yield line


def _signed_body(line: bytes, origin: str, keys: Sequence[bytes]) -> tuple[bytes, bytes | None]:
    """Return what a row's signature covers, and the key that made it, None when none of `keys` did."""
    body, _, tail = line.rpartition(_SIGNATURE)
    body += b"}"
    try:
        signature = base64.b64decode(tail.removesuffix(b'"}'), validate=True)
    except binascii.Error:
        return body, None
    message = pae(_KIND + origin, body)
    return body, next((key for key in keys if verify(key, message, signature)), None)
