"""Holding chains against the newest state: its signed rows say how far each chain reached, and stay when others go.

A checkpoint speaks for one chain, and the commit point lies beside all of them, so both go when somebody puts old files
back. The state chain and its copy `state.json` then still tell what was there (RF-30).
"""

from collections.abc import Callable, Mapping, Sequence

from receipt_writer.errors import LedgerBehindError, LedgerDamagedError
from receipt_writer.format.chain import genesis_head
from receipt_writer.format.entry import Entry, parse_line
from receipt_writer.format.errors import FormatError
from receipt_writer.format.policy import TrustedKey, is_trusted
from receipt_writer.format.signing import verify
from receipt_writer.format.state import STATE_LAYER, ChainState, states_of
from receipt_writer.index import ChainIndex
from receipt_writer.replay import head_of

ReadLine = Callable[[int], bytes]
"""Returns the line of an entry that exists, by its id."""


def newest_state(lines: Sequence[bytes], keys: Sequence[TrustedKey], tenant_id: str | None) -> Entry | None:
    """Return the newest of the states that a ledger signed; `keys` are those of its state chain.

    Lines that are none count for nothing: the state chain's own check tells of them, and the file is made again.
    """
    found = [entry for line in lines if (entry := _signed(line, keys, tenant_id))]
    return max(found, key=lambda entry: entry.id, default=None)


def require_covered(index: ChainIndex, state: Entry | None, line_of: ReadLine) -> None:
    """Judge a replayed chain against the newest state.

    Raises:
        LedgerBehindError: The chain is shorter than the state says, or is the state chain and ends before it.
        LedgerDamagedError: It is another chain than the one that the state was signed over.
    """
    if state is None:
        return
    if index.layer.name == STATE_LAYER:
        _require_length(index, state, state.id)
        return
    row = _rows(state).get(index.layer.chain)
    if row is None:
        return
    _require_length(index, state, row.size)
    newest = head_of(line_of(row.size), row.size).hash if row.size else genesis_head(index.origin).hash
    if index.tree.root(row.size) != row.root_hash or newest != row.head_hash:
        raise LedgerDamagedError(
            f"The first {row.size} entries of the chain {index.layer.chain} are not those that state {state.id} was "
            "signed over; put the chains back that belong to it."
        )


def _signed(line: bytes, keys: Sequence[TrustedKey], tenant_id: str | None) -> Entry | None:
    try:
        entry = parse_line(STATE_LAYER, line)
    except FormatError:
        return None
    key, signature = entry.attestation.public_key, entry.attestation.signature
    is_ours = entry.tenant_id == tenant_id and is_trusted(keys, key, "entry", entry.id)
    return entry if is_ours and verify(key, entry.signed_bytes, signature) else None


def _rows(state: Entry) -> Mapping[str, ChainState]:
    return {row.chain: row for row in states_of(state.fields)}


def _require_length(index: ChainIndex, state: Entry, size: int) -> None:
    if index.head.size < size:
        raise LedgerBehindError(
            f"The chain {index.layer.chain} ends with entry {index.head.size}, but state {state.id} was signed over "
            f"{size} entries of it; put the newer copy back."
        )
