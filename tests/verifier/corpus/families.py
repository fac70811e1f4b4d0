"""Attacks at all positions: a base file and short changes to it, thousands of cases in little room.

What each must come to is worked out by `judge`, which uses the writer's own format, a third implementation that shares
no code with the verifiers.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from receipt_writer.format.chain import Head, check_link, genesis_head
from receipt_writer.format.digest import split_origin
from receipt_writer.format.entry import parse_line
from receipt_writer.format.errors import ForkError, FormatError, LinkError, UnsupportedError
from receipt_writer.format.keylog import KEY_LAYER, check_possession, read_event
from receipt_writer.format.policy import TrustedKey
from receipt_writer.format.schema import layer_of_chain
from tests.verifier.bodies import LAYERS
from tests.verifier.corpus.keylogs import rotated_log
from tests.verifier.corpus.material import ENTRY, Corpus, chain, origin
from tests.verifier.ledger import Chain

Found = tuple[str, int | None, str | None]
Family = dict[str, Any]
SMALL, ORDERED = 3, 4


def judge(data: bytes, whole_origin: str) -> Found:
    """Verdict, id and check of a chain's bytes under the published entry key, without evidence from outside."""
    *lines, tail = data.split(b"\n")
    judged: Head | Found = genesis_head(whole_origin)
    for line in lines:
        judged = after(judged, line, whole_origin)
        if not isinstance(judged, Head):
            return judged
    return ("TORN_TAIL", None, "framing") if tail else ("PASS", None, None)


@cache
def after(head: Head, line: bytes, whole_origin: str) -> Head | Found:
    """The head after one more line, or what is wrong with that line; most cases begin with the same ones."""
    parts = split_origin(whole_origin)
    layer, keys = layer_of_chain(parts.chain).name, (TrustedKey(bytes(ENTRY.verify_key), "entry"),)
    try:
        entry = parse_line(layer, line)
        if layer == KEY_LAYER:
            read_event(entry)
        following = check_link(head, entry, tenant_id=parts.tenant_id, keys=keys)
        if layer == KEY_LAYER:
            check_possession(entry)
    except LinkError as error:
        return ("FORKED" if isinstance(error, ForkError) else "TAMPERED"), error.id, error.check
    except FormatError as error:
        return ("UNSUPPORTED" if isinstance(error, UnsupportedError) else "MALFORMED"), head.size + 1, error.check
    return following


def add_to(corpus: Corpus) -> None:
    small = chain(size=SMALL)
    base = corpus.file("golden/three.jsonl", small)
    policy = corpus.policy()
    corpus.note("of-three", small, SMALL)
    families = {
        "flips": {"base": base, "policy": policy, "flips": list(_flips(small))},
        "cuts": {"base": base, "policy": policy, "cuts": list(_cuts(small))},
        "orders": _orders(corpus, policy),
        "members": {"bases": list(_members(corpus))},
    }
    for name, family in families.items():
        corpus.file(f"families/{name}.json", spell(family))


def spell(value: object) -> bytes:
    """JSON with each innermost list on a line of its own."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return (re.sub(r"\[[^][{}]*?\]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text) + "\n").encode()


def flip(data: bytes, position: int, mask: int) -> bytes:
    """The bytes with some bits of one turned over."""
    return data[:position] + bytes([data[position] ^ mask]) + data[position + 1 :]


def _flips(small: Chain) -> Iterator[Family]:
    """Every byte of three entries, under three masks, as runs of positions that come to the same."""
    data = small.content
    for mask in (0x01, 0x20, 0x80):
        yield {"xor": mask, "runs": runs(judge(flip(data, at, mask), small.origin) for at in range(len(data)))}


def runs(found: Iterable[Found]) -> list[list[Any]]:
    """Equal neighbours as [first position, last position, verdict, id, check]."""
    made, start = [], 0
    for what, same in itertools.groupby(found):
        size = len(list(same))
        made.append([start, start + size - 1, *what])
        start += size
    return made


def _cuts(small: Chain) -> Iterator[Family]:
    """Every prefix of three entries: without evidence, and under a checkpoint of three."""
    data = small.content
    bare = [judge(data[:size], small.origin) for size in range(len(data) + 1)]
    short: Found = ("TRUNCATED", None, "checkpoint")
    yield {"checkpoint": None, "runs": runs(bare)}
    yield {"checkpoint": "checkpoints/of-three.checkpoint", "runs": runs([*[short] * len(data), bare[-1]])}


def _orders(corpus: Corpus, policy: str) -> Family:
    """Lines left out, repeated and in any order, and lines of other chains between them."""
    mine = chain(size=ORDERED)
    bases = {
        "golden/four.jsonl": mine,
        "golden/four-acme.jsonl": chain(size=ORDERED, tenant="acme"),
        "golden/four-turns.jsonl": chain("turns", ORDERED),
    }
    lines = [corpus_chain.lines for corpus_chain in bases.values()]
    files = [corpus.file(name, made) for name, made in bases.items()]
    own = [(0, number) for number in range(1, ORDERED + 1)]
    foreign = [(base, number) for base in (1, 2) for number in range(1, ORDERED + 1)]
    orders = [list(order) for size in range(ORDERED + 1) for order in itertools.permutations(own, size)]
    orders += [[*own[:at], line, *own[at:]] for line in own for at in range(ORDERED + 1)]
    orders += [[*own[:at], line, *own[at + skip :]] for line in foreign for at in range(ORDERED) for skip in (0, 1)]
    judged = []
    for order in orders:
        data = b"".join(lines[base][number - 1] + b"\n" for base, number in order)
        judged.append([" ".join(f"{base}:{number}" for base, number in order), *judge(data, mine.origin)])
    return {"bases": files, "policy": policy, "orders": judged}


def _members(corpus: Corpus) -> Iterator[Family]:
    """Each member of each layer in line 2 missing, repeated, misplaced or of a wrong type, or a stranger beside it."""
    for name in LAYERS:
        made = chain(name, SMALL) if name != "keys" else rotated_log()
        file, edits = corpus.file(f"layers/{name}.jsonl", made), []
        start = len(made.lines[0]) + 1
        for words, at, size, text in _edits(made.lines[1]):
            data = made.content
            spoilt = data[: start + at] + text + data[start + at + size :]
            assert spoilt != data
            edits.append([words, start + at, size, text.decode(), *judge(spoilt, origin(name))])
        yield {"base": file, "policy": corpus.policy(name), "edits": edits}


def _edits(line: bytes) -> Iterator[tuple[str, int, int, bytes]]:
    """What, where in the line, how many bytes fall and which come: for each member at any depth."""
    members = list(_spans(line))
    for name, start, end, value, depth in members:
        whole, text = line[start:end], line[start:end].decode()
        first = line[start - 1 : start] == b"{"
        last = line[end : end + 1] == b"}"
        cut = (start, end + 1) if not last else (start - (not first), end)
        yield f"{name} missing", cut[0], cut[1] - cut[0], b""
        yield f"{name} repeated", end, 0, b"," + whole
        yield f"{name} of a wrong type", value, end - value, b'{"x":1}' if not text.endswith("}") else b'"x"'
        if line[value:end] != b"null":
            yield f"{name} null", value, end - value, b"null"
        yield f"a stranger before {name}", start, 0, b'"stranger":"",'
        after = [m for m in members if m[1] == end + 1 and m[4] == depth]
        if after:
            neighbour = line[after[0][1] : after[0][2]]
            yield f"{name} after its neighbour", start, after[0][2] - start, neighbour + b"," + whole


def _spans(line: bytes) -> Iterator[tuple[str, int, int, int, int]]:
    """Name, start, end, start of the value, and depth of every member; the line is canonical ASCII."""
    for found in re.finditer(rb'"(\w+)":', line):
        depth, at, quoted = 0, found.end(), False
        while quoted or depth or line[at : at + 1] not in b",}]":
            quoted ^= line[at : at + 1] == b'"'
            depth += (line[at : at + 1] in b"[{") - (line[at : at + 1] in b"]}") if not quoted else 0
            at += 1
        before = line[: found.start()]
        yield found[1].decode(), found.start(), at, found.end(), before.count(b"{") - before.count(b"}")


def order_of(text: str) -> Sequence[tuple[int, int]]:
    """Read an order back: base and line number, from 1."""
    return [(int(base), int(number)) for base, number in (word.split(":") for word in text.split())]
