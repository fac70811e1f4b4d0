#!/usr/bin/env python3
"""Verify a receipt chain offline, with one file and no trust in whoever wrote the chain.

Needs Python 3.11 and nothing else; PyNaCl makes it fast. verify.mjs is the same verifier for Node, written separately
from the same norm, docs/receipt-format.md, whose rules are cited as RF-n; both print the same report, byte for byte.
From top to bottom: the grammar of a line, why a line is not of it, Ed25519, the seven checks of an entry, blocks of
lines judged in parallel, the evidence from outside, the verdict and its report, the command line.
"""

import argparse
import binascii
import hashlib
import json
import os
import re
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

try:
    from nacl.bindings import crypto_sign_open
    from nacl.exceptions import BadSignatureError
except ImportError:  # pure_ed25519_holds takes over
    crypto_sign_open = None  # type: ignore[assignment]

# A verdict's place is its exit code (RF-22); 2 is a usage or I/O error, told on stderr without a report.
EXITS = ("PASS", "TAMPERED", "", "UNANCHORED", "TRUNCATED", "FORKED", "TORN_TAIL", "STALE", "MALFORMED", "UNSUPPORTED")
MAX_LINE_BYTES, MAX_STRING_BYTES, MAX_DEPTH, MAX_INTEGER = 65_536, 4_096, 32, 2**53 - 1
BLOCK_BYTES, PARALLEL_BYTES = 1 << 18, 4 << 20  # a smaller file is judged before workers would have started
VERSION, MAX_KEYS_LISTED = "0.2.0", 64  # a hostile chain may carry a key an entry; memory stays flat

# --- Grammar (RF-1 to RF-9, RF-11): all members in order; only the newest form has what stands in <>; as in verify.mjs.

SCHEMAS = """
L1 state v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO chains:[{chain:CHAIN size:COUNT rootHash:HASH headHash:HASH}]
  prevHash:LINK tenantId?:TENANT
L3 keys v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO event:created|rotated|revoked use:entry|checkpoint publicKey:KEY
  previousKey:KEY|null reason:TEXT chains:[{chain:CHAIN atId:ORDINAL}] prevHash:LINK tenantId?:TENANT
  previousKeySignature?:SIGNATURE publicKeySignature?:SIGNATURE
L4 builds v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO productId:TEXT buildId:b_ULID version:TEXT
  artefacts:[{name:TEXT digest:HASH}] lockHash:HASH verifiers:[{name:TEXT digest:HASH}] promptVersion:TEXT
  modelVersion:TEXT configVersion:TEXT gateVerdict:passed|failed|not_run gateReportHash:HASH|null prevHash:LINK
  tenantId?:TENANT
L5 calls v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO productId:TEXT callId:c_ULID client:TEXT server:TEXT tool:TEXT
  toolListHash:HASH argumentsHash:HASH resultHash:HASH|null state:admitted|completed|denied|failed|expired
  latencyMs:COUNT commitment:hmac-sha256|sha256 prevHash:LINK tenantId?:TENANT
L6 reviews v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO productId:TEXT reviewId:r_ULID decisionId:ORDINAL decisionHash:HASH
  callId:c_ULID reviewer:TEXT verdict:approved|rejected|amended outputHash:HASH|null commentHash:HASH|null
  commitment:hmac-sha256|sha256 prevHash:LINK tenantId?:TENANT
L7 regenerations v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO reason:scheduled|requested|key_changed stateId:ORDINAL chains:COUNT
  entries:COUNT prevHash:LINK tenantId?:TENANT
L10 turns v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO productId:TEXT turnId:t_ULID sessionId:s_ULID
  gateway:cli|dashboard|telegram|discord|whatsapp|voice|api
  outcome:replied|limit_reached|cancelled|failed|interrupted iterations:COUNT inputHash:HASH replyHash:HASH
  model:{id:TEXT inputTokens:COUNT outputTokens:COUNT cacheReadTokens:COUNT cacheWriteTokens:COUNT
  costMicroUsd:COUNT estimated:BOOL calls:[{kind:TEXT n:COUNT}]}
  tools:[{tool:TEXT provider:TEXT status:ok|error n:COUNT costMicroUsd:COUNT|null}]
  memory:{searches:COUNT used:COUNT kept:COUNT unsent:COUNT reportId:TEXT|null}
  decisions:SPAN totalMicroUsd:COUNT traceHash:HASH commitment:hmac-sha256|sha256 prevHash:LINK tenantId?:TENANT
L11 components v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO productId:TEXT versionId:v_ULID kind:skill|prompt|soul|tool-manifest
  name:TEXT version:TEXT contentHash:HASH previousHash:HASH|null source:TEXT status:seen|accepted|refused
  prevHash:LINK tenantId?:TENANT
L12 decisions v1 v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO productId:TEXT specId:KEBAB specHash:HASH inputHash:HASH
  outputCanonicalHash:HASH category:classifier|extractor|drafter|router|summariser
  modelIdentity:{provider:anthropic|openai|azure-openai|local-llama|mock<|openai-compatible|offline>
  model:TEXT version:TEXT} latencyMs:COUNT schemaValid:BOOL reviewerVerdict:null|approved|rejected|amended
  fallbackTriggered:BOOL prevHash:LINK tenantId?:TENANT< turnId?:t_ULID callId:c_ULID
  exitState:ok|ok_amended|fallback_schema|fallback_timeout|fallback_provider|rejected_by_reviewer|failed_closed
  commitment:hmac-sha256|sha256>
"""

ESCAPE = r'\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))'  # RFC 8785 section 3.2.2.2
STRING = rf'"[^"\\\x00-\x1f]*+(?:{ESCAPE}[^"\\\x00-\x1f]*+)*+"'
TOP = str(MAX_INTEGER)
BELOW_TOP = "|".join(f"{TOP[:i]}[{int(i == 0)}-{int(d) - 1}][0-9]{{{15 - i}}}" for i, d in enumerate(TOP) if d != "0")
POSITIVE = f"(?:[1-9][0-9]{{0,14}}(?![0-9])|{BELOW_TOP}|{TOP})"
COUNT = f"(?:0|{POSITIVE})"
INSTANT = "(?:19[7-9][0-9]|[2-9][0-9]{3})-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9][.][0-9]{3}Z"
BASE64_32, BASE64_64 = "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=", "[A-Za-z0-9+/]{85}[AQgw]=="  # unused bits zero
TERMINALS = {
    "ID": f"(?P<id>{POSITIVE})",
    "TIME": f"(?P<ms>{COUNT})",
    "ISO": f'"(?P<iso>{INSTANT})"',
    "LINK": '"(?P<link>[0-9a-f]{64})"',
    "HASH": '"[0-9a-f]{64}"',
    "TEXT": STRING,
    "KEBAB": '"(?=[^"]{1,128}")[a-z0-9]++(?:-[a-z0-9]++)*+"',
    "TENANT": '"(?P<tenant>(?!-")[a-z0-9.-]{1,192})"',
    "COUNT": COUNT,
    "ORDINAL": POSITIVE,
    "CHAIN": '"[a-z]{1,32}"',
    "KEY": f'"{BASE64_32}"',
    "SIGNATURE": f'"{BASE64_64}"',
    "BOOL": "(?:true|false)",
    "null": "null",
    "SPAN": rf'\{{"n":(?:0,"firstId":0,"lastId":0|{POSITIVE},"firstId":{COUNT},"lastId":{COUNT})\}}',
}
ATTESTATION = (
    rf',"hash":"(?P<hash>[0-9a-f]{{64}})","attestation":\{{"algorithm":"ed25519","publicKey":"(?P<key>{BASE64_32})",'
    rf'"signature":"(?P<signature>{BASE64_64})","signedAtIso":"(?P<signed>{INSTANT})","canonicalForm":"(?P<form>FORM)"\}}\}}'
)
TOKEN = re.compile(r" (\w+)\?:([\w|-]+)|(\w+):|\[([^]]*)\]|([\w|-]+)|([{}])| ")


def compile_fields(row: str) -> str:
    """Turn a row of the table into the pattern of its canonical JSON."""

    def types(words: str) -> str:
        return "(?:" + "|".join(TERMINALS.get(word, f'"{word}"') for word in words.split("|")) + ")"

    def emit(token: re.Match[str]) -> str:
        optional, optional_types, name, item, words, brace = token.groups()
        if optional:
            return f'(?:,"{optional}":{types(optional_types)})?'
        if item:
            return rf"\[(?:{compile_fields(item)}(?:,{compile_fields(item)})*)?\]"
        return f'"{name}":' if name else types(words) if words else f"\\{brace}" if brace else ","

    return TOKEN.sub(emit, row).replace("ULID", "[0-9A-HJKMNP-TV-Z]{26}")


GRAMMARS: dict[str, dict[bytes, re.Pattern[bytes]]] = {}  # patterns by layer and form
LAYERS: dict[str, str] = {}  # layers by chain
for title, *rows in (re.split(r"\n *", block) for block in re.split(r"\n(?=L)", SCHEMAS.strip())):
    layer_, chain_, *forms = title.split(" ")
    LAYERS[chain_] = layer_
    for form_ in forms:
        fields = compile_fields(re.sub("[<>]" if form_ == forms[-1] else "<[^>]*>", "", " ".join(rows)))
        pattern = rf"\{{{fields}{ATTESTATION.replace('FORM', form_)}".encode()
        GRAMMARS.setdefault(layer_, {})[form_.encode()] = re.compile(pattern)

Entry = dict[str, bytes]  # what the checks need of a line: the named groups of its pattern, and its body
EPOCH, MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


def ms_of(instant: bytes) -> int | None:
    """Give the milliseconds since 1970 of an instant; None for the 30th of February and for 25 o'clock (RF-9)."""
    try:
        return (datetime.fromisoformat(instant.decode()) - EPOCH) // MILLISECOND if instant[11:13] < b"24" else None
    except ValueError:
        return None


def read_line(line: bytes, layer: str) -> Entry | None:
    """Read one line without its line break; None when, judged alone, it breaks RF-1 to RF-11."""
    grammar = GRAMMARS.get(layer, {}).get(line[-5:-3])  # a line ends in "canonicalForm":"v2"}}
    match = grammar.fullmatch(line) if grammar and len(line) <= MAX_LINE_BYTES else None
    if match is None or not is_utf8(line) or has_long_string(line):
        return None
    entry = match.groupdict(b"-")
    if ms_of(entry["iso"]) != int(entry["ms"]) or (entry["signed"] != entry["iso"] and ms_of(entry["signed"]) is None):
        return None
    entry["body"] = line[: match.start("hash") - len(',"hash":"')] + b"}"  # RF-7
    return entry if layer != "L3" or is_key_event(entry["body"]) else None


def is_key_event(body: bytes) -> bool:
    """Say whether a key event names the keys and carries the signatures that its kind asks for."""
    event = json.loads(body)
    rotated, signatures = event["event"] == "rotated", [name for name in event if name.endswith("KeySignature")]
    asked = {"created": ["publicKeySignature"], "rotated": ["previousKeySignature", "publicKeySignature"]}
    named = (event["previousKey"] is not None) == rotated and event["previousKey"] != event["publicKey"]
    return named and signatures == asked.get(event["event"], [])


# --- Diagnosis (RF-21): why a line is not of the grammar. This names faults; it never accepts.

SCALAR = f'(?:""|0|-?{POSITIVE}|true|false|null)'
SCALARS, STRINGS, ESCAPES = (re.compile(source.encode()) for source in (SCALAR, STRING, ESCAPE))
QUOTED = re.compile(STRING[:-1].encode() + b'(")|"(.*)')  # a whole string, or one that breaks off and the rest
FLAT = re.compile(rf'\{{(?:"":{SCALAR}(?:,"":{SCALAR})*)?\}}|\[(?:{SCALAR}(?:,{SCALAR})*)?\]'.encode())
VERSIONS = re.compile(
    rf',"attestation":\{{"algorithm":({STRING}),"publicKey":{STRING},"signature":{STRING},'
    rf'"signedAtIso":{STRING},"canonicalForm":({STRING})\}}\}}$'.encode()
)


def is_utf8(line: bytes) -> bool:
    """Say whether the bytes are UTF-8, without surrogates and overlong forms."""
    return line.isascii() or line.decode(errors="replace").encode() == line


def has_long_string(line: bytes) -> bool:
    """Say whether a string holds more than 4,096 bytes; an escape counts as the byte it stands for (RF-4)."""
    limit = MAX_STRING_BYTES + len('""')
    return len(line) > limit and any(len(ESCAPES.sub(b"x", text)) > limit for text in STRINGS.findall(line))


def is_canonical_json(line: bytes) -> bool:
    """Say whether the bytes are one canonical JSON value, at most 32 deep (RF-2 to RF-5).

    Strings are emptied first, so that brackets in them mislead nobody; then innermost arrays and objects fold into null
    until a scalar is left. Repeated and misplaced members pass here: the schema refuses them.
    """
    skeleton, folds = QUOTED.sub(rb'"\1\2', line), 1
    for _ in range(MAX_DEPTH):
        skeleton, folds = FLAT.subn(b"null", skeleton) if folds else (skeleton, 0)
    return SCALARS.fullmatch(skeleton) is not None


def diagnose(line: bytes, layer: str) -> tuple[str, str]:
    """Name verdict and check of a line that `read_line` refused: bytes and JSON first, then versions, then members."""
    if len(line) > MAX_LINE_BYTES or not is_utf8(line) or not is_canonical_json(line) or has_long_string(line):
        return "MALFORMED", "encoding"
    algorithm, form = versions.groups() if (versions := VERSIONS.search(line)) else (b'"ed25519"', b'"v2"')
    if algorithm != b'"ed25519"':
        return "UNSUPPORTED", "algorithm"
    return ("MALFORMED", "schema") if form[1:-1] in GRAMMARS.get(layer, GRAMMARS["L12"]) else ("UNSUPPORTED", "form")


# --- Signatures (RF-13, RF-14): Ed25519 without the cofactor, after byte checks that make all libraries agree.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
EIGHTH = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
LOW_ORDER_Y = {0, 1, P - 1, EIGHTH, P - EIGHTH}  # with either sign; y = p and p + 1 are not canonical anyway
KEY_BYTES, SIGNATURE_BYTES, Y_MASK = 32, 64, 2**255 - 1
Point = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z (RFC 8032 section 5.1.4)


def ed25519_holds(key: bytes, message: bytes, signature: bytes) -> bool:
    """Say whether a signature verifies: lengths, A and R canonical and not of low order, S < L, then the equation."""
    ys = [int.from_bytes(point, "little") & Y_MASK for point in (key, signature[:32])]
    sound = len(key) == KEY_BYTES and len(signature) == SIGNATURE_BYTES and all(y < P for y in ys)
    if not sound or LOW_ORDER_Y.intersection(ys) or int.from_bytes(signature[32:], "little") >= L:
        return False
    if crypto_sign_open is None:
        return pure_ed25519_holds(key, message, signature)
    try:
        return crypto_sign_open(signature + message, key) is not None
    except BadSignatureError:
        return False


def add(p: Point, q: Point) -> Point:
    """Add two points of the curve; the formula is complete, so it doubles too."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def decode_point(number: int) -> Point | None:
    """Recover x from a canonical encoding, read as a number; None when no point of the curve has that y."""
    y, sign = number & Y_MASK, number >> 255
    xx = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(xx, (P + 3) // 8, P)
    x = x if x * x % P == xx else x * pow(2, (P - 1) // 4, P) % P
    x = x if x & 1 == sign else P - x
    return (x, y, 1, x * y % P) if x * x % P == xx else None


def pure_ed25519_holds(key: bytes, message: bytes, signature: bytes) -> bool:
    """Check [S]B - [k]A = R with integers alone, some 2 ms a signature; the byte checks have been made."""
    base, point = decode_point(4 * pow(5, -1, P) % P), decode_point(int.from_bytes(key, "little"))
    if base is None or point is None:
        return False
    minus_a = (P - point[0], point[1], 1, P - point[3])
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    s = int.from_bytes(signature[32:], "little")
    table, total = ((0, 1, 1, 0), base, minus_a, add(base, minus_a)), (0, 1, 1, 0)
    for bit in reversed(range(253)):
        total = add(add(total, total), table[(s >> bit & 1) | (k >> bit & 1) << 1])
    inverse = pow(total[2], -1, P)
    x, y = total[0] * inverse % P, total[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


# --- Checks (RF-20), in the norm's order. `before` is the entry of the line before, None when that is malformed.


class TrustedKey(NamedTuple):
    """A key of the policy, its use, and the ids it may sign (RF-18)."""

    key: bytes
    use: str
    from_id: int = 1
    to_id: int | None = None

    def may_sign(self, use: str, number: int) -> bool:
        """Say whether this is a key for that use, at that id or size of a checkpoint."""
        return self.use == use and self.from_id <= number and (self.to_id is None or number <= self.to_id)


Request = argparse.Namespace  # the command line, with origin, layer, tenant, keys and checkpoints read from its files


def sha256(data: bytes) -> bytes:
    """Hash bytes."""
    return hashlib.sha256(data).digest()


def pae_holds(kind: bytes, body: bytes, key: bytes, signature: bytes) -> bool:
    """Say whether a signature, like the key in base64, holds over DSSE's PAE of a type and a body (RF-12)."""
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
    return ed25519_holds(binascii.a2b_base64(key), message, binascii.a2b_base64(signature))


def is_signed(entry: Entry, layer: str) -> bool:
    """Say whether the signature holds, which binds layer, form, signing time and body, and those of a key event too."""
    kind = b"application/vnd.prometheus.receipt+json;layer=%b;form=%b;signedAt=%b"
    kind %= layer.encode(), entry["form"], entry["signed"]
    holds = pae_holds(kind, entry["body"], entry["key"], entry["signature"])
    return holds and (layer != "L3" or keys_are_held(entry["body"]))


def keys_are_held(body: bytes) -> bool:
    """Say whether the keys a key event names signed it, as holders of their secrets do, up to the first signature."""
    event, said = json.loads(body), re.split(rb',"(?:previous|public)KeySignature":"', body)[0] + b"}"
    signed = [
        (event[name], event[name + "Signature"]) for name in ("previousKey", "publicKey") if name + "Signature" in event
    ]
    kind = b"application/vnd.prometheus.key-event+json;layer=L3;form=v2"
    return all(pae_holds(kind, said, key.encode(), signature.encode()) for key, signature in signed)


CHECKS: dict[str, Callable[[Entry, Entry | None, Request], bool]] = {
    "id": lambda entry, before, _: before is None or int(entry["id"]) == int(before["id"]) + 1,  # RF-10: without gaps
    "link": lambda entry, before, _: before is None or before["hash"] in (entry["link"], b""),  # RF-10: or the origin
    "tenant": lambda entry, _, request: entry["tenant"] == request.tenant,  # RF-10: in every entry, or in none
    "hash": lambda entry, *_: entry["hash"] == sha256(entry["body"]).hex().encode(),  # RF-7: of the body as stored
    "time": lambda entry, before, _: before is None or int(entry["ms"]) >= int(before["ms"]),  # RF-9: never decreases
    "key": lambda entry, _, request: (  # RF-19: one from outside; when there is none at all, UNANCHORED says so
        not request.keys or any(k.key == entry["key"] and k.may_sign("entry", int(entry["id"])) for k in request.keys)
    ),
    "signature": lambda entry, _, request: (
        request.level == "chain" or is_signed(entry, request.layer)
    ),  # not on level chain
}


class Verdict(NamedTuple):
    """A word of the closed enum; check, id and byte offset where a line decided."""

    name: str
    check: str | None = None
    id: int | None = None
    offset: int | None = None


# --- Blocks: the file flows through, never whole in memory. Workers judge blocks, this process joins the findings.


def grow(tree: list[bytes], leaf: bytes) -> None:
    """Add a leaf hash to the RFC 6962 tree, kept as its complete subtrees by height (RF-16)."""
    height = 0
    while height < len(tree) and tree[height]:
        leaf, tree[height], height = sha256(b"\x01" + tree[height] + leaf), b"", height + 1
    tree[height : height + 1] = [leaf]


def root_of(tree: list[bytes]) -> bytes:
    """Give the root; that of no leaves is the hash of nothing (RF-16)."""
    right, *subtrees = [subtree for subtree in tree if subtree] or [sha256(b"")]
    for left in subtrees:
        right = sha256(b"\x01" + left + right)
    return right


@dataclass
class Findings:
    """What lines showed: those of a block, or of the whole file once its blocks are joined."""

    bad: Verdict | None = None
    first: Entry | None = None
    last: Entry | None = None
    entries: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # lines that fail a check, by check
    keys: Counter[bytes] = field(default_factory=Counter)  # entries by key
    leaves: list[tuple[bytes, int]] = field(default_factory=list)  # hash and recordedAtMs of each line of a block
    lines: int = 0
    tree: list[bytes] = field(default_factory=list)
    met: dict[int, tuple[bytes, int]] = field(default_factory=lambda: {0: (root_of([]), 0)})  # root, ms by size
    file_bytes: int = 0
    torn_bytes: int = 0

    def join(self, block: "Findings", sizes: Sequence[int]) -> None:
        """Add what the next block of the file showed; `sizes` are the checkpoints'."""
        for leaf, ms in block.leaves:
            grow(self.tree, leaf)
            self.lines += 1
            if self.lines in sizes:
                self.met[self.lines] = root_of(self.tree), ms
        for key, count in block.keys.items():
            if key in self.keys or len(self.keys) < MAX_KEYS_LISTED:
                self.keys[key] += count
        self.faults.update(block.faults)
        self.entries += block.entries
        self.bad, self.first, self.last = self.bad or block.bad, self.first or block.first, block.last or self.last


def judge_block(number: int, offset: int, previous: bytes | None, data: bytes, request: Request) -> Findings:
    """Judge whole lines, given the first one's number and offset and the line before it; pure, for any process."""
    found = Findings()
    genesis = sha256(f"prometheus-receipts genesis v1\n{request.origin}\n".encode()).hex() if request.origin else ""
    imagined = {"id": b"0", "ms": b"0", "hash": genesis.encode()}  # the entry before id 1 (RF-10)
    entry = imagined if previous is None else read_line(previous, request.layer)
    for count, line in enumerate(data.split(b"\n")[:-1], number):
        before, entry = entry, read_line(line, request.layer)
        if entry is None:
            name, *failed = diagnose(line, request.layer)
        else:
            name = "FORKED" if before and entry["id"] == before["id"] else "TAMPERED"
            failed = [check for check, holds in CHECKS.items() if not holds(entry, before, request)]
            found.first, found.last, found.entries = found.first or entry, entry, found.entries + 1
            found.keys[entry["key"]] += 1
        if failed:
            found.faults.update(failed)
            found.bad = found.bad or Verdict(name, failed[0], int(entry["id"]) if entry else count, offset)
        found.leaves.append((sha256(b"\x00" + line), int(entry["ms"]) if entry else 0))
        offset += len(line) + 1
    return found


def read_blocks(chain: Path, found: Findings) -> Iterator[tuple[int, int, bytes | None, bytes]]:
    """Cut a file into blocks of whole lines and note its size and torn tail; 0x0A is the only line break (RF-1)."""
    number, offset, previous, rest = 1, 0, None, b""
    with chain.open("rb", buffering=0) as file:
        while piece := file.read(BLOCK_BYTES):
            data = rest + piece
            if end := data.rfind(b"\n") + 1:
                yield number, offset, previous, data[:end]
                number, offset = number + data.count(b"\n"), found.file_bytes + end - len(rest)
                previous = data[:end].rsplit(b"\n", 2)[-2]
            rest = data[end:][: MAX_LINE_BYTES + 1]  # more of an endless line would not change how it is judged
            found.file_bytes += len(piece)
    found.torn_bytes = found.file_bytes - offset


def examine(chain: Path, request: Request, workers: int | None) -> Findings:
    """Read and judge one chain file, in several processes when it is big; raises OSError when it cannot be read."""
    found, window, sizes = Findings(), deque[Future[Findings]](), [size for size, _ in request.checkpoints]
    workers = workers or (1 if chain.stat().st_size < PARALLEL_BYTES else os.cpu_count() or 1)
    with ProcessPoolExecutor(workers) if workers > 1 else ThreadPoolExecutor(1) as pool:
        for block in read_blocks(chain, found):
            window.append(pool.submit(judge_block, *block, request))
            if len(window) > 2 * workers:  # so many blocks are in memory, however long the file
                found.join(window.popleft().result(), sizes)
        for judged in window:
            found.join(judged.result(), sizes)
    return found


def find_fork(chain: Path, copy: Path) -> int | None:
    """Give the id at which two sound copies first differ; None when they agree as far as both go."""
    blocks = zip(read_blocks(chain, Findings()), read_blocks(copy, Findings()), strict=False)
    for (number, _, _, data), (_, _, _, twin) in blocks:
        pairs = zip(data.split(b"\n")[:-1], twin.split(b"\n")[:-1], strict=False)
        if differ := [i for i, (line, other) in enumerate(pairs, number) if line != other]:
            return differ[0]
    return None


# --- Evidence (RF-17 to RF-19): what the person brings from outside. Whatever is wrong with it is a usage error.

POLICY = re.compile(  # what a policy is, its members sorted and defaults filled in (RF-18)
    rf'\{{"keys":\[(?:\{{"fromId":{COUNT},"publicKey":"{BASE64_32}","toId":(?:null|{COUNT}),"use":"(?:entry|checkpoint)"'
    r'\},?)*\],"origin":"(?=[^"]{5,200}")[a-z0-9.-]+/([a-z0-9.-]+)/([a-z0-9.-]+)",'
    rf'"quorum":({COUNT}),"witnesses":\[(?:"[ !#-\[\]-~]*",?)*\]\}}'
)
POLICY_FORM = """it is not {"origin": "<substrateId>/<chain>/<tenantId>", "keys": [{"publicKey": "<base64>", "use":
  "entry" or "checkpoint", "fromId": 1, "toId": null}, ...], "witnesses": [], "quorum": 0 (more is not known here)}"""
BASE64 = "(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
NOTE = re.compile(  # C2SP signed-note: text, an empty line, signatures
    f"(([^\n]+)\n(0|[1-9][0-9]{{0,14}})\n({BASE64_32})\n(?:[^\n]+\n)*)\n((?:\u2014 [^ +\n]+ {BASE64}\n)+)".encode()
)


class UsageError(Exception):
    """Something given cannot be used; the message says what and why."""


def read_policy(file: Path) -> tuple[str, str, str, list[TrustedKey]]:
    """Read a policy's origin, chain, tenant and keys; raises UsageError for anything but exactly a policy."""
    text = file.read_bytes().decode(errors="replace")
    try:
        policy = json.loads(
            text, parse_constant=int, object_pairs_hook=lambda m: dict(m) if len(dict(m)) == len(m) else 0
        )
        keys = [{"fromId": 1, "toId": None, **key} for key in policy["keys"][:]]
        policy = {"quorum": 0, "witnesses": [], **policy, "keys": keys}
    except (ValueError, LookupError, TypeError, RecursionError):
        policy = {}
    match = POLICY.fullmatch(json.dumps(policy, ensure_ascii=False, separators=(",", ":"), sort_keys=True))
    if match is None or match[3] != "0":
        raise UsageError(f"{file}: {POLICY_FORM}")
    trusted = [TrustedKey(key["publicKey"].encode(), key["use"], key["fromId"], key["toId"]) for key in keys]
    return policy["origin"], match[1], match[2], trusted


def read_checkpoint(file: Path, request: Request) -> tuple[int, bytes]:
    """Read size and root of a checkpoint that a key of the policy signed for its origin (RF-17); else UsageError."""
    match = NOTE.fullmatch(file.read_bytes())
    text, log, size, root, lines = match.groups() if match else [b"", b"", b"0", b"", b""]
    if not match or log != request.origin.encode():
        raise UsageError(f"{file}: it is not a signed checkpoint of {request.origin or 'a log that a policy names'}")
    ours = [line.split(b" ")[2] for line in lines.split(b"\n")[:-1] if line.split(b" ")[1] == log]
    holds = []
    for key in (binascii.a2b_base64(k.key) for k in request.keys if k.may_sign("checkpoint", max(int(size), 1))):
        blobs = [blob for blob in map(binascii.a2b_base64, ours) if blob[:4] == sha256(log + b"\n\x01" + key)[:4]]
        holds += [ed25519_holds(key, text, blob[4:]) for blob in blobs]
    if not holds or not all(holds):
        raise UsageError(f"{file}: no checkpoint key of the policy signed it")
    return int(size), binascii.a2b_base64(root)


# --- Verdict (RF-22): the earliest bad line of the first copy that has one; else the first that applies of the table.


def settle(request: Request) -> None:
    """Take layer and tenant from the first line that can be read, where neither policy nor option gave them."""
    for chain in () if request.origin else request.chains:
        for *_, data in read_blocks(chain, Findings()):
            for line, layer in product(data.split(b"\n"), [request.layer] if request.layer else GRAMMARS):
                if entry := read_line(line, layer):
                    request.layer, request.tenant = layer, entry["tenant"]
                    return


def meets(request: Request, copies: Sequence[Findings]) -> list[tuple[int, bool]]:
    """Say of each checkpoint whether the chain reaches its size and every copy that does has its root (RF-17)."""
    roots = [{size: root for size, (root, _) in copy.met.items()} for copy in copies]
    return [(s, s in roots[0] and all(met.get(s, root) == root for met in roots)) for s, root in request.checkpoints]


def decide(request: Request, copies: Sequence[Findings], fork: int | None, now_ms: int) -> Verdict:
    """Give the first verdict that applies."""
    chain, newest = copies[0], max((size for size, _ in request.checkpoints), default=0)
    age_ms = now_ms - chain.met[newest][1] if newest in chain.met else now_ms
    torn = [copy.file_bytes - copy.torn_bytes for copy in copies if copy.torn_bytes]
    applies = [
        *((True, copy.bad) for copy in copies if copy.bad),
        (not request.keys, Verdict("UNANCHORED")),
        (newest > chain.lines, Verdict("TRUNCATED", "checkpoint")),
        (request.min_entries > chain.lines, Verdict("TRUNCATED", "min-entries")),
        (not all(met for _, met in meets(request, copies)), Verdict("FORKED", "checkpoint")),
        (fork is not None, Verdict("FORKED", "copies", fork)),
        *((True, Verdict("TORN_TAIL", "framing", None, offset)) for offset in torn),
        (request.max_age is not None and (not newest or age_ms > request.max_age), Verdict("STALE", "max-age")),
    ]
    return next((verdict for holds, verdict in applies if holds), Verdict("PASS"))


# --- Report: numbers, hashes, times and words of this file, never an entry's text, so that no terminal obeys it.

LABELS = ("Ids contiguous", "Hash chain", "One tenant", "Body hashes", "Timestamps", "Trust anchor", "Signatures")


def summarise(request: Request, copies: Sequence[Findings], fork: int | None, verdict: Verdict) -> dict[str, Any]:
    """Give the report's members; head and root are null when a bad line leaves them without meaning."""
    chain, sound = copies[0], not any(copy.bad for copy in copies)
    keys = dict.fromkeys([*(key.key for key in request.keys if key.use == "entry"), *chain.keys])
    compared = "not compared" if not sound else f"they differ at id {fork}" if fork else "they agree"
    notes = {
        "No key was given from outside: anyone can write a chain that carries its own key.": not request.keys,
        "No policy named the origin: the first link was not held against a genesis hash.": not request.origin,
        "No checkpoint was given: entries cut from the end cannot be seen.": not request.checkpoints,
        "Level chain does not check signatures: a forged one passes unseen.": request.level == "chain",
        f"{chain.torn_bytes} bytes after the last line break are a torn tail, not judged.": chain.torn_bytes,
    }
    for copy in copies[1:]:
        notes[f"The second copy has {copy.lines} lines, {'some bad' if copy.bad else 'none bad'}; {compared}."] = True
    return {
        "verdict": verdict.name,
        "exit": EXITS.index(verdict.name),
        "id": verdict.id,
        "check": verdict.check,
        "offset": verdict.offset,
        "entries": chain.entries,
        "signatures": chain.entries - chain.faults["signature"] if request.level == "full" else 0,
        "headHash": chain.last["hash"].decode() if sound and chain.last else None,
        "rootHash": root_of(chain.tree).hex() if sound else None,
        "earliest": chain.first["iso"].decode() if chain.first else None,
        "latest": chain.last["iso"].decode() if chain.last else None,
        "keys": [{"fingerprint": sha256(binascii.a2b_base64(k)).hex(), "entries": chain.keys[k]} for k in keys],
        "checkpoints": [{"size": size, "ok": met if sound else None} for size, met in meets(request, copies)],
        "anchor": None,
        "notes": [note for note, applies in notes.items() if applies],
    }


def page(request: Request, chain: Findings, report: dict[str, Any]) -> str:
    """Lay the report out for a person."""
    n, faults, trusted = chain.entries, chain.faults, len({key.key for key in request.keys if key.use == "entry"})
    skipped = {"key" if not request.keys else "", "signature" if request.level == "chain" else ""}
    words = {True: ("ok", "met"), False: ("FAIL", "not met"), None: ("-", "not compared")}
    where = [f", {name} {report[name]}" for name in ("id", "check", "offset") if report[name] is not None]
    lines = [
        "RECEIPT CHAIN VERIFICATION\n",
        f"Chain file        {re.sub('[^ -~]', '?', request.chains[0].name)}, {chain.file_bytes} bytes",
        f"Origin            {request.origin or 'not given'}",
        f"Layer, tenant     {request.layer or 'not known'}, {request.tenant.decode()}",
        f"Level             {request.level}\n",
        f"Entries           ok    {n}",
        f"Malformed lines   {'FAIL' if chain.lines > n else 'ok':6}{chain.lines - n}",
    ]
    for label, check in zip(LABELS, CHECKS, strict=True):
        mark, held = "FAIL" if faults[check] else "ok", n - faults[check]
        lines.append(f"{label:18}-     not checked" if check in skipped else f"{label:18}{mark:6}{held}/{n}")
    for i, key in enumerate(report["keys"]):
        known = "trusted" if i < trusted else "not trusted"  # the trusted are listed first
        lines.append(f"  key {key['fingerprint']} {known}, {key['entries']} entries")
    for mark, met, size in ((*words[checkpoint["ok"]], checkpoint["size"]) for checkpoint in report["checkpoints"]):
        lines.append(f"Checkpoint        {mark:6}size {size}, {met}")
    lines += [] if report["checkpoints"] else ["Checkpoints       -     none given, so a cut tail cannot be seen"]
    lines += [
        "Anchor age        -     no anchor given\n",
        f"Head hash         {report['headHash'] or 'none'}",
        f"Root hash         {report['rootHash'] or 'none'}",
        f"Earliest          {report['earliest'] or 'none'}",
        f"Latest            {report['latest'] or 'none'}\n",
        f"VERDICT           {report['verdict']} (exit {report['exit']}){''.join(where)}\n",
        *(f"Note: {note}" for note in report["notes"]),
        "What a PASS does not prove: that a record is true, that every act was recorded, that the clock was right",
        "before the first anchor, or (without a checkpoint) that nothing was cut from the end.\n",
    ]
    return "\n".join(lines)


# --- Command line.


def banner() -> str:
    """Name this verifier, its version and the SHA-256 of its own file, by which anyone can tell which one judged."""
    return f"verify.py {VERSION} sha256 {sha256(Path(__file__).read_bytes()).hex()}"


def count(text: str) -> int:
    """Read a whole number; raises ValueError for anything else."""
    return int(text if re.fullmatch("[0-9]{1,15}", text) else "none")


def age(text: str) -> int:
    """Read a span such as 24h, in milliseconds; raises ValueError for anything else."""
    return count(text[:-1]) * [1_000, 60_000, 3_600_000, 86_400_000]["smhd".index(text[-1:] or "?")]


def read_request(arguments: Sequence[str]) -> Request:
    """Read the command line and the files it names; raises UsageError, or OSError when one cannot be read."""
    raw = argparse.RawDescriptionHelpFormatter
    line = argparse.ArgumentParser("verify.py", description=__doc__, formatter_class=raw, allow_abbrev=False)
    line.add_argument("chains", metavar="CHAIN", nargs="+", type=Path, help="the chain file, and perhaps another copy")
    line.add_argument("--policy", metavar="FILE", type=Path, help="origin and trusted keys, from outside the chain")
    line.add_argument("--trusted-key", metavar="BASE64", action="append", default=[], help="an entry key to trust")
    line.add_argument("--checkpoint", metavar="FILE", action="append", default=[], help="a signed tree head to meet")
    line.add_argument("--min-entries", metavar="N", type=count, default=0, help="TRUNCATED below so many")
    line.add_argument("--max-age", metavar="AGE", type=age, help="STALE when no checkpoint is as new as 90m, 24h, 7d")
    line.add_argument("--level", choices=("chain", "full"), default="full", help="chain leaves the signatures out")
    line.add_argument("--layer", choices=tuple(GRAMMARS), default="", help="when no policy tells it")
    line.add_argument("--json", action="store_true", help="print one JSON object")
    line.add_argument("--version", action="version", version=banner())
    request = line.parse_args(arguments, Request(origin="", tenant=b"-", keys=[]))
    if len(request.chains) > 2 or not all(re.fullmatch(BASE64_32, key) for key in request.trusted_key):  # noqa: PLR2004
        raise UsageError("give one chain file or two copies of it, and keys as base64 of 32 bytes")
    if request.policy:
        request.origin, chain, tenant, request.keys = read_policy(request.policy)
        asked, request.layer, request.tenant = request.layer, LAYERS.get(chain, ""), tenant.encode()
        if not request.layer or asked not in (request.layer, ""):
            raise UsageError(f"the policy is for the chain {chain}, not for {asked or 'one this version knows'}")
    request.keys += [TrustedKey(key.encode(), "entry") for key in request.trusted_key]
    request.checkpoints = [read_checkpoint(Path(file), request) for file in request.checkpoint]
    return request


def run(arguments: Sequence[str], now_ms: int, workers: int | None = None) -> tuple[int, str, str]:
    """Do what one command line asks for, and print nothing; give the exit code and what to print where."""
    try:
        request = read_request(arguments)
        settle(request)
        copies = [examine(chain, request, workers) for chain in request.chains]
        fork = find_fork(*request.chains) if len(copies) > 1 else None
    except (UsageError, OSError) as error:
        return 2, "", f"verify: {error}\n"
    report = summarise(request, copies, fork, decide(request, copies, fork, now_ms))
    text = json.dumps(report, separators=(",", ":")) + "\n" if request.json else page(request, copies[0], report)
    slow = "verify: PyNaCl is not installed; pure Python checks signatures, slowly\n"
    return report["exit"], text, slow if crypto_sign_open is None and request.level == "full" else ""


def main() -> int:
    """Run the command line; the exit code is the verdict's."""
    try:
        code, text, message = run(sys.argv[1:], time.time_ns() // 1_000_000)
    except Exception:  # noqa: BLE001 - whatever it is, it must not exit with 1, which says TAMPERED
        code, text, message = 2, "", traceback.format_exc()
    sys.stderr.write((banner() + "\n" if text else "") + message)
    sys.stdout.write(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
