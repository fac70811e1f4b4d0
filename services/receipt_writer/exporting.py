"""A copy of a ledger to hand over: what a verifier needs of it, and no key.

    turns.jsonl  decisions.jsonl  …  keys.jsonl  turns.checkpoint  …  policy-turns.json  …  state.json  README.txt

Chains are copied byte for byte up to their last line break, the oldest evidence first, so that a running writer cannot
make the copy contradict itself: a checkpoint in it never covers more than the chain beside it, and no entry is signed
by a key that the key log beside it does not know.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from receipt_writer.errors import RequestRefusedError
from receipt_writer.format.keylog import KEY_CHAIN
from receipt_writer.format.schema import LAYERS
from receipt_writer.identity import STATE_NAME, chains_folder, policy_path
from receipt_writer.progress import Advance
from receipt_writer.storage.jsonl import chain_path, checkpoint_path
from service_runtime.errors import SetupError

_PIECE_BYTES = 1 << 20
_GUIDE = """\
This folder is a copy of a receipt ledger, made to be verified by somebody else.

  python -I verify.py . --policy POLICY-FOLDER --key-log keys.jsonl
  node verify.mjs . --policy POLICY-FOLDER --key-log keys.jsonl

Take the verifier and the policy files from somebody you trust, not from this folder: whoever could change the chains
could change the policy files beside them. Compare the fingerprints that the report prints with those you were told.
With -I Python takes no module from the folder that the verifier lies in, where somebody could have put one.
"""


@dataclass(frozen=True)
class Exported:
    """One chain of an export: its name and the number of bytes copied."""

    chain: str
    bytes_copied: int


def export_ledger(folder: Path, target: Path, advance: Advance) -> list[Exported]:
    """Copy the chains, checkpoints, policies and the state of a ledger into a new folder.

    Raises:
        SetupError: There is no ledger in the folder.
        RequestRefusedError: The target exists and is not an empty folder.
        OSError: The disk refused; what was copied so far stays there.
    """
    chains = chains_folder(folder)
    found = [layer.chain for layer in LAYERS.values() if chain_path(chains, layer.chain).exists()]
    if not found:
        raise SetupError(f"There is no ledger in {folder}; name the home of one with --home.")
    _require_new(target)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (folder / STATE_NAME, *(checkpoint_path(chains, chain) for chain in found)):
        if path.exists():
            shutil.copyfile(path, target / path.name)
    total = sum(chain_path(chains, chain).stat().st_size for chain in found)
    exported, done = [], 0
    for chain in sorted(found, key=lambda chain: chain == KEY_CHAIN):  # the key log last: it leads to every signer
        copied = _copy_lines(chain_path(chains, chain), target / f"{chain}.jsonl")
        exported.append(Exported(chain, copied))
        done += copied
        advance(done, total)
        policy = policy_path(folder, chain)
        if policy.exists():
            shutil.copyfile(policy, target / policy.name)
    (target / "README.txt").write_text(_GUIDE)
    return exported


def _require_new(target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RequestRefusedError(f"{target} exists already; name a folder that does not, or an empty one.")


def _copy_lines(source: Path, target: Path) -> int:
    shutil.copyfile(source, target)
    end = _last_break(target)
    with target.open("r+b") as copy:
        copy.truncate(end)
    return end


def _last_break(path: Path) -> int:
    """Return where the last whole line of a file ends; what a writer is just writing follows it."""
    with path.open("rb") as file:
        position = file.seek(0, 2)
        while position:
            start = max(0, position - _PIECE_BYTES)
            file.seek(start)
            at = file.read(position - start).rfind(b"\n")
            if at >= 0:
                return start + at + 1
            position = start
    return 0
