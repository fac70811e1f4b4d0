"""Who this ledger is: its name, its two keys, and the policy files that tell others whom to trust (spec section 7).

    ledger.json  entry.key  checkpoint.key  policy-turns.json  policy-decisions.json  chains/

All of it is made at the first start. Later a missing key is an error: a new key over an old chain would be a new ledger
that nobody trusts yet. The store keeps copies of the newest checkpoints in the same folder.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import KeyFileError
from receipt_writer.format.digest import origin
from receipt_writer.format.errors import OriginError, PolicyError
from receipt_writer.format.policy import Policy, TrustedKey, parse_policy
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import Signer
from receipt_writer.signers.file import create_key, load_key
from receipt_writer.storage.filesystem import FileSystem, create_file, read_whole
from service_runtime.errors import SetupError

ENTRY_KEY_NAME = "entry.key"
CHECKPOINT_KEY_NAME = "checkpoint.key"
LEDGER_NAME = "ledger.json"


@dataclass(frozen=True)
class Identity:
    """The ledger's name in the world and its signers; `policies` by layer name."""

    substrate_id: str
    entry_signer: Signer
    checkpoint_signer: Signer
    policies: Mapping[str, Policy]


def chains_folder(folder: Path) -> Path:
    """Return where the chains of a receipts folder are."""
    return folder / "chains"


def policy_path(folder: Path, chain: str) -> Path:
    """Return where the policy file of a chain is: the file to hand to a verifier."""
    return folder / f"policy-{chain}.json"


def load_identity(files: FileSystem, folder: Path) -> Identity:
    """Read the ledger's name and keys, and restore policy files that are missing.

    A policy file may say more than ours (its owner adds witnesses), never something else: others judge by it.

    Raises:
        KeyFileError: A key file is missing or unusable.
        SetupError: `ledger.json` is missing or broken, or a policy file is about another ledger or other keys.
    """
    substrate_id = read_substrate_id(files, folder)
    entry_signer = load_key(folder / ENTRY_KEY_NAME, "entry")
    checkpoint_signer = load_key(folder / CHECKPOINT_KEY_NAME, "checkpoint")
    keys = (TrustedKey(entry_signer.public_key, "entry"), TrustedKey(checkpoint_signer.public_key, "checkpoint"))
    policies = {layer.name: Policy(origin(substrate_id, layer.chain), keys) for layer in LAYERS.values()}
    for name, policy in policies.items():
        path = policy_path(folder, LAYERS[name].chain)
        content = read_whole(files, path)
        if content is None:
            create_file(files, path, policy.to_json() + b"\n")
        else:
            _require_agreement(path, content, policy)
    return Identity(substrate_id, entry_signer, checkpoint_signer, policies)


def create_identity(files: FileSystem, folder: Path, substrate_id: str | None = None) -> None:
    """Make what is missing of a new ledger's name and keys; a start that was cut off is completed.

    `substrate_id` names the ledger and is part of every chain's origin; by default `home-` and 12 random hex digits.

    Raises:
        KeyFileError: A key could not be written.
        SetupError: The name has characters that an origin cannot have, or the ledger has another name already.
    """
    name = substrate_id or f"home-{secrets.token_hex(6)}"
    if read_whole(files, folder / LEDGER_NAME) is None:
        _require_nameable(name)
        create_file(files, folder / LEDGER_NAME, json.dumps({"substrateId": name}).encode() + b"\n")
    elif substrate_id and read_substrate_id(files, folder) != substrate_id:
        raise SetupError(f"This ledger is called {read_substrate_id(files, folder)} for good; use another home.")
    for key_name, use in ((ENTRY_KEY_NAME, "entry"), (CHECKPOINT_KEY_NAME, "checkpoint")):
        if not (folder / key_name).exists():
            create_key(files, folder / key_name, "entry" if use == "entry" else "checkpoint")


def read_substrate_id(files: FileSystem, folder: Path) -> str:
    """Return the ledger's name.

    Raises:
        SetupError: There is no ledger in the folder, or `ledger.json` is missing or broken.
    """
    content = read_whole(files, folder / LEDGER_NAME)
    if content is None and not chains_folder(folder).exists():
        raise SetupError(f"There is no ledger in {folder}; name the home of one with --home.")
    try:
        name = json.loads(content or b"")["substrateId"]
        origin(name, "decisions")
    except (ValueError, KeyError, TypeError, RecursionError, OriginError) as error:
        raise SetupError(f"{folder / LEDGER_NAME} does not name the ledger; put it back from your backup.") from error
    return str(name)


def require_no_keys(folder: Path) -> None:
    """Refuse to make keys for a ledger that has them.

    Raises:
        KeyFileError: Both key files are there.
    """
    if all((folder / name).exists() for name in (ENTRY_KEY_NAME, CHECKPOINT_KEY_NAME)):
        raise KeyFileError(f"The ledger in {folder} has keys already, and they stay; use another home for a new one.")


def require_no_lost_key(folder: Path) -> None:
    """Refuse to go on when a key is missing although the ledger has been used.

    Raises:
        KeyFileError: The sentence names the key file.
    """
    for name in (ENTRY_KEY_NAME, CHECKPOINT_KEY_NAME):
        if not (folder / name).exists():
            raise KeyFileError(
                f"The key file {folder / name} is missing, but its ledger has entries; put it back from your backup."
            )


def _require_agreement(path: Path, content: bytes, own: Policy) -> None:
    try:
        found = parse_policy(content)
    except PolicyError:
        return  # its owner's own words; the commands that need it say so
    uses = {(key.public_key, key.use) for key in found.keys}
    if found.origin != own.origin or any((key.public_key, key.use) not in uses for key in own.keys):
        raise SetupError(
            f"{path} is not about this ledger's name and both of its keys; put back the name, keys and policy that "
            "belong together, or move the policy away to have it made again."
        )


def _require_nameable(name: str) -> None:
    try:
        origin(name, "decisions")
    except OriginError as error:
        raise SetupError(f"The ledger cannot be called {name!r}: {error}") from error
