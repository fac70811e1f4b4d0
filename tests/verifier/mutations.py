"""Ways to spoil bytes: blindly, and knowing what a line, a key, a signature, a chain or a note is made of."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable, Sequence

from tests.receipt_writer.format.edwards import ORDER, low_order_encodings
from tests.verifier import ledger

Mutation = Callable[[random.Random, bytes], bytes]
TOKENS = [
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b'"',
        b"\\",
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b"\xc3",
        b"\xe2\x80\xa8",
        b" ",
        b"0",
    ),
    *(
        b"\xef\xbb\xbf",
        b"-",
        b"1.0",
        b"1e3",
        b"9007199254740992",
        b"null",
        b"true",
        b"NaN",
        b'"x"',
        b"{}",
        b"[]",
        b"\\u0000",
    ),
    *(b"\\u001F", b"\\ud800", b"\\/", b'"id":1', b'"id":2,', b"v1", b"v3", b"ed25519", b"ed448", b',"hash":"', b"\n\n"),
    *(b',"attestation":{', b'"tenantId":"acme",', b"=", b"==", b"A", b"a", b"Z", b"x" * 5000, b"[" * 40, b'"' * 9),
    *(
        "\u2014 ".encode(),
        b"index 0\n",
        b"extra ",
        b'"atId":1',
        b'"revoked"',
        b'"checkpoint"',
        b'"toId":1',
        b'"fromId":2',
    ),
]
NUMBERS = [
    b"0",
    b"1",
    b"2",
    b"3",
    b"-1",
    b"-0",
    b"00",
    b"1.0",
    b"1e3",
    b"9007199254740991",
    b"9007199254740992",
    b"9" * 400,
]
STRINGS = [
    b"",
    b"x" * 4096,
    b"x" * 4097,
    b"\\n" * 4096,
    b"\\u0000",
    b"\\u001f",
    b"\\u001F",
    b"\\ud83d\\ude00",
    b"\\ud800",
]
STRINGS += [
    "caf\u00e9".encode(),
    "cafe\u0301".encode(),
    b"\x1b[2J",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"v1",
    b"rotated",
    b"keys",
]
LOW_ORDER = low_order_encodings()


def flip(dice: random.Random, data: bytes) -> bytes:
    position = dice.randrange(len(data))
    return data[:position] + bytes([data[position] ^ 1 << dice.randrange(8)]) + data[position + 1 :]


def insert(dice: random.Random, data: bytes) -> bytes:
    position = dice.randrange(len(data) + 1)
    return data[:position] + dice.choice(TOKENS) + data[position:]


def cut(dice: random.Random, data: bytes) -> bytes:
    start = dice.randrange(len(data))
    return data[:start] + data[start + dice.choice([1, 1, 2, 5, 40, 1200]) :]


def truncate(dice: random.Random, data: bytes) -> bytes:
    return data[: dice.randrange(len(data))]


def overwrite(dice: random.Random, data: bytes) -> bytes:
    token = dice.choice(TOKENS)
    position = dice.randrange(len(data))
    return data[:position] + token + data[position + len(token) :]


def repeat(dice: random.Random, data: bytes) -> bytes:
    a, b = sorted(dice.randrange(len(data) + 1) for _ in range(2))
    position = dice.randrange(len(data) + 1)
    return data[:position] + data[a : min(b, a + 300)] + data[position:]


def lines(dice: random.Random, data: bytes) -> bytes:
    """Swap, repeat or drop whole lines."""
    parts = data.split(b"\n")
    a, b = dice.randrange(len(parts)), dice.randrange(len(parts))
    what = dice.random()
    if what < 0.4:
        parts[a], parts[b] = parts[b], parts[a]
    elif what < 0.7:
        parts.insert(a, parts[b])
    else:
        del parts[a]
    return b"\n".join(parts)


def members(dice: random.Random, data: bytes) -> bytes:
    """Move, repeat or drop whole members of a line."""
    parts = data.split(b"\n")
    at = dice.randrange(len(parts))
    pieces = parts[at].split(b',"')
    a, b = dice.randrange(len(pieces)), dice.randrange(len(pieces))
    if dice.random() < 0.3:
        del pieces[a]
    else:
        pieces.insert(a, pieces[b])
    parts[at] = b',"'.join(pieces)
    return b"\n".join(parts)


def _one_of(dice: random.Random, data: bytes, pattern: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Change one of the places where a pattern's first group matches."""
    found = list(re.finditer(pattern, data))
    if not found:
        return flip(dice, data)
    start, end = dice.choice(found).span(1)
    return data[:start] + change(data[start:end]) + data[end:]


def number(dice: random.Random, data: bytes) -> bytes:
    near = dice.random() < 0.5
    return _one_of(
        dice,
        data,
        rb"[:\n ](-?[0-9]+)\b",
        lambda old: b"%d" % (int(old[:15]) + dice.choice([-1, 1])) if near else dice.choice(NUMBERS),
    )


def string(dice: random.Random, data: bytes) -> bytes:
    return _one_of(dice, data, rb'"([^"\\]{0,200})"', lambda _: dice.choice(STRINGS))


def exchange(dice: random.Random, data: bytes) -> bytes:
    """Put one hash, key or signature in the place of another."""
    kind = dice.choice([rb"([0-9a-f]{64})", rb"([A-Za-z0-9+/]{43}=)", rb"([A-Za-z0-9+/]{86}==)"])
    found = re.findall(kind, data) or [b"0" * 64]
    return _one_of(dice, data, kind, lambda _: dice.choice(found))


def spelling(dice: random.Random, data: bytes) -> bytes:
    """Spell base64 otherwise: unpadded, with loose bits, in the other alphabet, longer, shorter."""

    def change(old: bytes) -> bytes:
        bare = old.rstrip(b"=")
        loose = bare[:-1] + bytes([bare[-1] + 1]) + old[len(bare) :]
        short = base64.b64encode(base64.b64decode(old)[:-1])
        return dice.choice(
            [bare, old + b"=", loose, b"-" + old[1:], short, base64.b64encode(base64.b64decode(old) + b"x")]
        )

    return _one_of(dice, data, rb"([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)", change)


def signature(dice: random.Random, data: bytes) -> bytes:
    """Give a signature another R or S that a lenient check might let through."""

    def change(old: bytes) -> bytes:
        made = base64.b64decode(old)
        r, s = made[:32], int.from_bytes(made[32:], "little")
        r = dice.choice([r, r, dice.choice(LOW_ORDER), flip(dice, r), bytes([*r[:31], r[31] ^ 0x80])])
        s = dice.choice([s + ORDER, ORDER - s, 0, s ^ 1 << dice.randrange(256)])
        return base64.b64encode(r + (s % 2**256).to_bytes(32, "little"))

    return _one_of(dice, data, rb"([A-Za-z0-9+/]{86}==)", change)


def key(dice: random.Random, data: bytes) -> bytes:
    """Put a key of low order, or a stranger's, in the place of a key."""
    strange = [*LOW_ORDER, bytes(ledger.OTHER_KEY.verify_key)]
    return _one_of(dice, data, rb"([A-Za-z0-9+/]{43}=)", lambda _: base64.b64encode(dice.choice(strange)))


def forge(dice: random.Random, data: bytes) -> bytes:
    """Change a body, then hash, link and sign everything from there on with a stranger's key, under either name."""
    parts = data.split(b"\n")[:-1]
    bodies = [line[: line.rfind(b',"hash":"')] + b"}" for line in parts]
    if not parts or b'"prevHash":"' not in parts[-1]:
        return flip(dice, data)
    at = dice.randrange(len(parts))
    chain = ledger.Chain(key=ledger.OTHER_KEY, lines=parts[:at], head=_hash_of(parts[at - 1]) if at else "0" * 64)
    claims = [{}, {"publicKey": ledger.public(ledger.ENTRY_KEY)}][dice.randrange(2)]
    for place, body in enumerate(bodies[at:], at):
        spoilt = dice.choice([number, string])(dice, body) if place == at else body
        linked = (
            re.sub(rb'"prevHash":"[0-9a-f]{64}"', b'"prevHash":"%b"' % chain.head.encode(), spoilt) if place else spoilt
        )
        chain.add_bytes(linked.replace(b"\n", b" "), layer=dice.choice(["L10", "L12"]), **claims)
    return chain.content


def _hash_of(line: bytes) -> str:
    return line.rpartition(b',"hash":"')[2][:64].decode(errors="replace")


def splice_with(others: Sequence[bytes]) -> Mutation:
    """Put a line of another chain in the place of a line, or beside it."""

    def splice(dice: random.Random, data: bytes) -> bytes:
        parts, other = data.split(b"\n"), dice.choice(others).split(b"\n")
        at = dice.randrange(len(parts))
        parts[at : at + dice.randrange(2)] = [dice.choice(other)]
        return b"\n".join(parts)

    return splice


BLIND: list[Mutation] = [flip, insert, cut, truncate, overwrite, repeat]
KNOWING: list[Mutation] = [lines, members, number, string, exchange, spelling, signature, key]


def spoil(dice: random.Random, data: bytes, ways: Sequence[Mutation]) -> bytes:
    """Apply one to four of the ways, each to what the one before left."""
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        data = dice.choice(ways)(dice, data) or b"\n"
    return data
