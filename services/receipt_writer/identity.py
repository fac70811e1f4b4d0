"""Who this ledger is: its name, its two keys, and the policy files that tell others whom to trust (spec section 7).

    ledger.json  entry.key  checkpoint.key  policy-turns.json  policy-decisions.json  …  chains/

All of it is made at the first start. Later a missing key is an error: a new key over an old chain would be a new ledger
that nobody trusts yet. Policy files name the keys that the ledger began with and stay as they are when a key changes:
people hold them already, and the key log leads on from them. The store keeps copies of the newest checkpoints in the
same folder. A tenant's folder looks the same, and its `ledger.json` names the tenant as well.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import KeyFileError
from receipt_writer.format.digest import origin
from receipt_writer.format.errors import OriginError, PolicyError
from receipt_writer.format.policy import Policy, TrustedKey, parse_policy
from receipt_writer.format.schema import LAYERS
from receipt_writer.format.signing import Signer, fingerprint
from receipt_writer.signers.custody import KeyCustody, Use
from receipt_writer.signers.source import KEY_NAMES, KeySource
from receipt_writer.storage.filesystem import FileSystem, create_file, read_whole
from receipt_writer.trust import Trust
from service_runtime.errors import SetupError

LEDGER_NAME = "ledger.json"
STATE_NAME = "state.json"
USES: tuple[Use, ...] = ("entry", "checkpoint")
"""The two uses of a ledger's keys."""


@dataclass(frozen=True)
class LedgerName:
    """What every origin of a ledger begins and ends with; `tenant_id` is None in a ledger that is no tenant's."""

    substrate_id: str
    tenant_id: str | None = None

    def origin(self, chain: str) -> str:
        """Return the origin of one of its chains.

        Raises:
            OriginError: A part of the name cannot stand in an origin.
        """
        return origin(self.substrate_id, chain, self.tenant_id)


@dataclass(frozen=True)
class Identity:
    """The ledger's name and its keys: where they are kept, those that the key files hold, those that may follow."""

    name: LedgerName
    custody: Mapping[Use, KeyCustody]
    signers: Mapping[Use, Signer]
    next_signers: Mapping[Use, Signer]

    @property
    def substrate_id(self) -> str:
        """Who runs the ledger."""
        return self.name.substrate_id

    @property
    def entry_signer(self) -> Signer:
        """The key of the entry key file."""
        return self.signers["entry"]

    @property
    def checkpoint_signer(self) -> Signer:
        """The key of the checkpoint key file."""
        return self.signers["checkpoint"]

    @property
    def own_keys(self) -> tuple[TrustedKey, ...]:
        """The keys of the key files, trusted without limit: those of a ledger that has no key log yet."""
        return tuple(TrustedKey(self.signers[use].public_key, use) for use in USES)

    def in_force(self, trust: Trust, use: Use) -> Signer:
        """Return the signer that the key log says is in force: the key file's, or the one a rotation prepared.

        Raises:
            KeyFileError: Neither is: the key file belongs to another ledger, or is older than the last rotation.
        """
        wanted = trust.in_force(use)
        for signer in (self.signers[use], self.next_signers.get(use)):
            if signer and signer.public_key == wanted:
                return signer
        named = f"fingerprint {fingerprint(wanted)}" if wanted else "none any more"
        raise KeyFileError(
            f"The {use} key that this writer was given is not the one in force, which by the key log is {named}; put "
            "back the key file, or the seed in the environment, that belongs to this ledger."
        )


def chains_folder(folder: Path) -> Path:
    """Return where the chains of a receipts folder are."""
    return folder / "chains"


def policy_path(folder: Path, chain: str) -> Path:
    """Return where the policy file of a chain is: the file to hand to a verifier."""
    return folder / f"policy-{chain}.json"


def load_identity(files: FileSystem, folder: Path, source: KeySource) -> Identity:
    """Read the ledger's name and keys.

    Raises:
        KeyFileError: A key is missing or unusable, or one key has both uses.
        SetupError: `ledger.json` is missing or broken.
    """
    name = read_name(files, folder)
    custody = {use: source.custody(files, folder, use) for use in USES}
    signers: dict[Use, Signer] = {use: custody[use].load() for use in USES}
    if signers["entry"].public_key == signers["checkpoint"].public_key:
        raise KeyFileError("The entry key and the checkpoint key are one key; each use needs a key of its own.")
    following = {use: signer for use in USES if (signer := custody[use].load_next())}
    return Identity(name, custody, signers, following)


def restore_policies(files: FileSystem, folder: Path, name: LedgerName, roots: Sequence[TrustedKey]) -> None:
    """Make the policy files that are missing; `roots` are the keys that the ledger began with.

    A policy file may say more than ours (its owner adds witnesses), never something else: others judge by it.

    Raises:
        SetupError: A policy file is about another ledger or other keys.
    """
    for layer in LAYERS.values():
        policy = Policy(name.origin(layer.chain), tuple(roots))
        path = policy_path(folder, layer.chain)
        content = read_whole(files, path)
        if content is None:
            create_file(files, path, policy.to_json() + b"\n")
        else:
            _require_agreement(path, content, policy)


def create_identity(files: FileSystem, folder: Path, source: KeySource, name: LedgerName | None = None) -> None:
    """Make what is missing of a new ledger's name and keys; a start that was cut off is completed.

    `name` is part of every chain's origin; by default it is `home-` and 12 random hex digits, of no tenant.

    Raises:
        KeyFileError: A key could not be written.
        SetupError: The name has characters that an origin cannot have, or the ledger has another name already.
    """
    wanted = name or LedgerName(f"home-{secrets.token_hex(6)}")
    if read_whole(files, folder / LEDGER_NAME) is None:
        _require_nameable(wanted)
        members = {"substrateId": wanted.substrate_id, "tenantId": wanted.tenant_id}
        said = {member: value for member, value in members.items() if value is not None}
        create_file(files, folder / LEDGER_NAME, json.dumps(said).encode() + b"\n")
    elif name:
        require_name(files, folder, name)
    for use in USES:
        custody = source.custody(files, folder, use)
        if not custody.exists():
            custody.create()


def require_name(files: FileSystem, folder: Path, name: LedgerName) -> None:
    """Refuse another name than the ledger's own.

    Raises:
        SetupError: It has another one, or none.
    """
    known = read_name(files, folder)
    if known != name:
        tenant = f" of tenant {known.tenant_id}" if known.tenant_id else ""
        raise SetupError(f"This ledger is called {known.substrate_id}{tenant} for good; use another home.")


def read_name(files: FileSystem, folder: Path) -> LedgerName:
    """Return the ledger's name.

    Raises:
        SetupError: There is no ledger in the folder, or `ledger.json` is missing or broken.
    """
    content = read_whole(files, folder / LEDGER_NAME)
    if content is None and not chains_folder(folder).exists():
        raise SetupError(f"There is no ledger in {folder}; name the home of one with --home.")
    try:
        members = json.loads(content or b"")
        name = LedgerName(members["substrateId"], members.get("tenantId"))
        name.origin("decisions")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OriginError) as error:
        raise SetupError(f"{folder / LEDGER_NAME} does not name the ledger; put it back from your backup.") from error
    return name


def read_substrate_id(files: FileSystem, folder: Path) -> str:
    """Return the first part of the ledger's name.

    Raises:
        SetupError: As `read_name`.
    """
    return read_name(files, folder).substrate_id


def require_no_keys(files: FileSystem, folder: Path, source: KeySource) -> None:
    """Refuse to make keys for a ledger that has them.

    Raises:
        KeyFileError: The ledger has its name and both keys.
    """
    named = (folder / LEDGER_NAME).exists()
    if named and all(source.custody(files, folder, use).exists() for use in USES):
        raise KeyFileError(f"The ledger in {folder} has keys already, and they stay; use another home for a new one.")


def require_no_lost_key(files: FileSystem, folder: Path, source: KeySource) -> None:
    """Refuse to go on when a key is missing although the ledger has been used.

    Raises:
        KeyFileError: The sentence names the key file.
    """
    for use in USES:
        if not source.custody(files, folder, use).exists():
            raise KeyFileError(
                f"The key file {folder / KEY_NAMES[use]} is missing, but its ledger has entries; put it back from your "
                "backup."
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


def _require_nameable(name: LedgerName) -> None:
    try:
        name.origin("decisions")
    except OriginError as error:
        raise SetupError(f"The ledger cannot be called {name.substrate_id!r}: {error}") from error
