"""How verify.py cuts a file: blocks that say where they are, and an endless line that is never held whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.verifier import ledger
from tests.verifier.conftest import Judge
from verifier import verify

ENDLESS = 3 * verify.BLOCK_BYTES


@pytest.mark.parametrize("carried", [True, False])
def test_an_endless_line_is_cut_short_and_carried_so_that_no_worker_reads_it_whole(
    carried: bool, tmp_path: Path
) -> None:
    sound = ledger.Chain().fill(3).content
    (tmp_path / "chain").write_bytes(sound + b"x" * ENDLESS + b"\n" + sound)

    blocks = list(verify.Reader(tmp_path / "chain").blocks(carried=carried))

    assert sum(block.size for block in blocks) == 2 * len(sound) + ENDLESS + 1
    cut = next(block for block in blocks if block.size > verify.BLOCK_BYTES)
    assert cut.data is not None
    assert len(cut.data) <= verify.BLOCK_BYTES + verify.MAX_LINE_BYTES + 1
    assert [block.data is not None for block in blocks if block is not cut] == [carried] * (len(blocks) - 1)


@pytest.mark.parametrize("spoilt", [b"A" * 64, b'"' * 64, b"\n" * 64, b"0" * 63 + b"g"])
def test_no_hash_is_taken_for_hex_where_nothing_tells_what_it_must_be(spoilt: bytes, judge: Judge) -> None:
    """Without an origin nothing says what the first link must be; a block of lines is judged no softer than a line."""
    first, *rest = ledger.Chain().fill(3).lines
    genesis = json.loads(first)["prevHash"].encode()

    outcome = judge(b"".join(line + b"\n" for line in [first.replace(genesis, spoilt), *rest]), policy=None)

    assert outcome.found[:2] == ("MALFORMED", 1)


def test_a_reader_goes_on_where_it_stopped(tmp_path: Path) -> None:
    chain, file = ledger.Chain().fill(5), tmp_path / "chain"
    file.write_bytes(chain.content[:-700])
    reader = verify.Reader(file)
    before = list(reader.blocks())
    with file.open("ab") as opened:
        opened.write(chain.content[-700:])

    after = list(reader.blocks())

    assert b"".join(block.data or b"" for block in before + after) == chain.content
    assert [block.number for block in after] == [5]
    assert after[0].previous == chain.lines[3]


def test_subtrees_of_any_part_of_a_chain_give_its_root() -> None:
    lines = ledger.Chain().fill(40).lines
    leaves = [verify.sha256(b"\x00" + line) for line in lines]
    for cut in range(len(lines) + 1):
        tree: list[bytes] = []
        for part, index in ((leaves[:cut], 0), (leaves[cut:], cut)):
            for height, node in verify.subtrees_of(list(part), index):
                verify.grow(tree, node, height)

        assert verify.root_of(tree) == ledger.tree_root(lines)
