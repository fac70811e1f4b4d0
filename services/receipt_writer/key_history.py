"""Which key signs, as the files of a ledger tell it."""

import json
from pathlib import Path

from receipt_writer.errors import EntryNotFoundError
from receipt_writer.format.keylog import KEY_LAYER
from receipt_writer.offline import open_chain

_BEGINS = {"created", "rotated"}


def key_in_force(folder: Path, use: str) -> str:
    """Return the key that signs entries or checkpoints now, in base64: the last that the key log tells of.

    Raises:
        EntryNotFoundError: The key log tells of none; a start of the writer records the first ones.
        SetupError: There is no ledger in the folder.
    """
    with open_chain(folder, KEY_LAYER) as opened:
        for number in range(opened.index.head.size, 0, -1):
            event = json.loads(opened.entry(number).line)
            if event["use"] == use and event["event"] in _BEGINS:
                return str(event["publicKey"])
    raise EntryNotFoundError(f"The key log tells of no {use} key yet; start the writer once, then ask again.")
