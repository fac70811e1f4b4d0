"""Which key signs, as the files of a ledger tell it."""

import base64
import json
from pathlib import Path

from receipt_writer.errors import EntryNotFoundError
from receipt_writer.format.keylog import KEY_CHAIN, KEY_LAYER
from receipt_writer.identity import chains_folder
from receipt_writer.offline import open_chain, read_policy
from receipt_writer.storage.jsonl import chain_path

_BEGINS = {"created", "rotated"}


def key_in_force(folder: Path, use: str) -> str:
    """Return the key that signs entries or checkpoints now, in base64: the last that the key log tells of.

    Before the first start there is no key log, and the policy names the keys that the ledger will begin with.

    Raises:
        EntryNotFoundError: Neither tells of one.
        SetupError: There is no ledger in the folder.
    """
    if chain_path(chains_folder(folder), KEY_CHAIN).exists():
        with open_chain(folder, KEY_LAYER) as opened:
            for number in range(opened.index.head.size, 0, -1):
                event = json.loads(opened.entry(number).line)
                if event["use"] == use and event["event"] in _BEGINS:
                    return str(event["publicKey"])
    for key in read_policy(folder, KEY_CHAIN).keys:
        if key.use == use:
            return base64.b64encode(key.public_key).decode()
    raise EntryNotFoundError(f"No {use} key is known here yet; start the writer once, then ask again.")
