#!/usr/bin/env python3
"""Verify receipt chains offline, with one file and no trust in whoever wrote them.

Needs Python 3.11 and nothing else; PyNaCl makes it fast. verify.mjs is the same verifier for Node, written separately
from the same norm, docs/receipt-format.md, whose rules are cited as RF-n; both print the same report, byte for byte.
From top to bottom: the grammar of a line, why a line is not of it, Ed25519, the seven checks of an entry, blocks of
lines judged in parallel, the evidence from outside, a chain and its verdict, a state, a proof of one entry, a chain
that is followed while it grows, ids that must not repeat, the command line.
"""

import argparse
import binascii
import hashlib
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain as chained
from itertools import pairwise
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

try:
    from nacl.bindings import crypto_sign_open
    from nacl.exceptions import BadSignatureError
except ImportError:  # pure_ed25519_holds takes over
    crypto_sign_open = None  # type: ignore[assignment]

# A verdict's place is its exit code (RF-22); 2 is a usage or I/O error, told on stderr without a report.
EXITS = ("PASS", "TAMPERED", "", "UNANCHORED", "TRUNCATED", "FORKED", "TORN_TAIL", "STALE", "MALFORMED", "UNSUPPORTED")
WORST_FIRST = [EXITS[code] for code in (1, 5, 4, 8, 9, 6, 7, 3, 0)]
MAX_LINE_BYTES, MAX_STRING_BYTES, MAX_DEPTH, MAX_INTEGER = 65_536, 4_096, 32, 2**53 - 1
BLOCK_BYTES, PARALLEL_BYTES = 1 << 20, 4 << 20  # a smaller file is judged before workers would have started
VERSION, MAX_WORKERS, MAX_KEYS_LISTED = "0.2.0", 64, 64  # a hostile chain may carry a key an entry; memory stays flat

# --- Grammar (RF-1 to RF-9, RF-11): all members in order; only the newest form has what stands in <>; as in verify.mjs.

SCHEMAS = """
L1 state v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO chains:[{chain:CHAIN size:COUNT rootHash:HASH headHash:HASH}]
  prevHash:LINK tenantId?:TENANT
L2 specs v2
  id:ID recordedAtMs:TIME recordedAtIso:ISO productId:TEXT specId:KEBAB specHash:HASH
  category:classifier|extractor|drafter|router|summariser
  modelIdentity:{provider:anthropic|openai|azure-openai|local-llama|mock|openai-compatible|offline
  model:TEXT version:TEXT} schemaVersion:TEXT specBytes:COUNT prevHash:LINK tenantId?:TENANT
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
HEX_64 = "[^\\x00-/:-`g-\\xff]{64}"  # [0-9a-f], spelled by what it is not: Python then looks each byte up at once
TERMINALS = {
    "ID": f"(?P<id>{POSITIVE})",
    "TIME": f"(?P<ms>{COUNT})",
    "ISO": f'"(?P<iso>{INSTANT})"',
    "LINK": f'"(?P<link>{HEX_64})"',
    "HASH": f'"{HEX_64}"',
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
    rf',"hash":"(?P<hash>{HEX_64})","attestation":\{{"algorithm":"ed25519","publicKey":"(?P<key>{BASE64_32})",'
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


GRAMMARS: dict[str, dict[bytes, str]] = {}  # by layer and form: the row of the table
LAYERS: dict[str, str] = {}  # layers by chain
for title, *rows in (re.split(r"\n *", block) for block in re.split(r"\n(?=L)", SCHEMAS.strip())):
    layer_, chain_, *forms = title.split(" ")
    LAYERS[chain_] = layer_
    for form_ in forms:
        row_ = re.sub("[<>]" if form_ == forms[-1] else "<[^>]*>", "", " ".join(rows))
        GRAMMARS.setdefault(layer_, {})[form_.encode()] = row_


@lru_cache(MAX_KEYS_LISTED)
def grammar_of(layer: str, form: bytes, *, in_a_row: bool = False) -> re.Pattern[bytes] | None:
    """Give the pattern of a line, or of one with its break, to be found many times in a row; None for no such form.

    In a row the pattern takes anything for the two hashes that are then compared with what SHA-256 gives.
    """
    row = GRAMMARS.get(layer, {}).get(form)
    if row is None:
        return None
    line = rf"(\{{{compile_fields(row)}){ATTESTATION.replace('FORM', form.decode())}"
    for name in ("<link>", "<hash>") if in_a_row else ():
        line = line.replace(name + HEX_64, name + ".{64}")
    return re.compile((rf"({line})\n" if in_a_row else line).encode(), re.DOTALL)


CHAINS = {layer: chain for chain, layer in LAYERS.items()}
EPOCH, MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


class Entry(NamedTuple):
    """What the checks need of a line: the groups of its pattern, in their order, and its body."""

    id: int
    ms: int
    iso: bytes
    link: bytes
    tenant: bytes
    hash: bytes
    key: bytes
    signature: bytes
    signed: bytes
    form: bytes
    body: bytes


@lru_cache(64)
def ms_of_minute(minute: bytes) -> int | None:
    """Give the milliseconds since 1970 of a minute such as 2026-11-30T09:41; None when the calendar has none such."""
    try:
        return (datetime.fromisoformat(minute.decode() + "Z") - EPOCH) // MILLISECOND if minute[11:13] < b"24" else None
    except ValueError:
        return None


def ms_of(instant: bytes) -> int | None:
    """Give the milliseconds since 1970 of an instant; None for the 30th of February and for 25 o'clock (RF-9)."""
    minute = ms_of_minute(instant[:16])
    return None if minute is None else minute + int(instant[17:19] + instant[20:23])


def read_line(line: bytes, layer: str) -> Entry | None:
    """Read one line without its line break; None when, judged alone, it breaks RF-1 to RF-11."""
    grammar = grammar_of(layer, line[-5:-3])  # a line ends in "canonicalForm":"v2"}}
    match = grammar.fullmatch(line) if grammar and len(line) <= MAX_LINE_BYTES else None
    if match is None or not is_utf8(line) or has_long_string(line):
        return None
    opened, number, ms, iso, link, tenant, own_hash, key, signature, signed, form = match.groups(b"-")
    at_ms = int(ms)
    if ms_of(iso) != at_ms or (signed != iso and ms_of(signed) is None):
        return None
    body = opened + b"}"  # RF-7
    if layer == "L3" and not is_key_event(body):
        return None
    return Entry(int(number), at_ms, iso, link, tenant, own_hash, key, signature, signed, form, body)


def is_key_event(body: bytes) -> bool:
    """Say whether a key event names the keys and carries the signatures that its kind asks for (RF-26)."""
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


def is_point(encoded: bytes) -> bool:
    """Say whether 32 bytes can stand for a point: y canonical and not of low order."""
    y = int.from_bytes(encoded, "little") & Y_MASK
    return y < P and y not in LOW_ORDER_Y


def ed25519_holds(key: bytes, message: bytes, signature: bytes) -> bool:
    """Say whether a signature verifies: lengths, A and R canonical and not of low order, S < L, then the equation."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES or int.from_bytes(signature[32:], "little") >= L:
        return False
    if not is_point(key) or not is_point(signature[:32]):
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
# Entries that follow one another can be judged together: `rows` is an Entry whose members are columns, of one row each
# when a line is judged alone.


class TrustedKey(NamedTuple):
    """A key from outside, its use, and the ids it may sign (RF-18)."""

    key: bytes
    use: str
    from_id: int = 1
    to_id: int | None = None

    def covers(self, number: int) -> bool:
        """Say whether this is a key at that id, or size of a checkpoint."""
        return self.from_id <= number and (self.to_id is None or number <= self.to_id)


class Ring:
    """Whom a chain trusts, found by key and use, so that a long key log is not searched whole for each event."""

    def __init__(self, keys: Iterable[TrustedKey] = ()) -> None:
        """Take the keys in their order."""
        self.spans: dict[tuple[bytes, str], list[tuple[int, TrustedKey]]] = {}
        self.added = 0
        for key in keys:
            self.add(key)

    def __iter__(self) -> Iterator[TrustedKey]:
        """Give the keys in the order in which they came."""
        return (key for _, key in sorted(chained.from_iterable(self.spans.values())))

    def of(self, key: bytes, use: str) -> list[TrustedKey]:
        """Give the ranges of a key for a use."""
        return [known for _, known in self.spans.get((key, use), ())]

    def add(self, key: TrustedKey) -> None:
        """Trust a key from now on."""
        self.added += 1
        self.spans.setdefault((key.key, key.use), []).append((self.added, key))

    def end(self, key: bytes, use: str, at: int) -> None:
        """Let every range of a key for a use end before an id, or where it ended before."""
        spans = self.spans.pop((key, use), ())
        last = [(n, known, at - 1 if known.to_id is None else min(known.to_id, at - 1)) for n, known in spans]
        if kept := [(n, known._replace(to_id=to_id)) for n, known, to_id in last if known.from_id < at]:
            self.spans[key, use] = kept


Place = tuple[str, bytes]  # layer and tenant
Words = list[str]


@dataclass
class Case:
    """One chain to judge: its file and other copies of it, what is known of it from outside, and what is asked."""

    files: list[Path]
    layer: str
    tenant: bytes
    options: argparse.Namespace
    origin: str = ""
    keys: Ring = field(default_factory=Ring)
    anchored: bool = False  # some key was given from outside; a key log may leave none of them
    unfit: bool = False  # policies were given, and none is for this chain
    key_log: bool = False
    told: Words = field(default_factory=list)  # what is to be said of the key log
    checkpoints: list[tuple[int, bytes]] = field(default_factory=list)  # size and root
    sizes: set[int] = field(default_factory=set)  # where root, time and head are to be noted
    rings: dict[str, Ring] = field(default_factory=dict)  # of a key log: the keys of other chains, by chain
    beside: set[str] | None = None  # of a state in a folder: the names of the files there

    def add_checkpoint(self, name: object, note: bytes) -> None:
        """Take a checkpoint as evidence; raises UsageError when it is none."""
        checkpoint = read_note(name, note, self)
        self.checkpoints.append(checkpoint)
        self.sizes.add(checkpoint[0])


def sha256(data: bytes) -> bytes:
    """Hash bytes."""
    return hashlib.sha256(data).digest()


def hex_of(data: bytes) -> bytes:
    """Hash bytes, as entries spell it."""
    return hashlib.sha256(data).hexdigest().encode()


def pae_holds(kind: bytes, body: bytes, key: bytes, signature: bytes) -> bool:
    """Say whether a signature, like the key in base64, holds over DSSE's PAE of a type and a body (RF-12)."""
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
    return ed25519_holds(binascii.a2b_base64(key), message, binascii.a2b_base64(signature))


def is_signed(attested: Sequence[bytes], layer: str) -> bool:
    """Say whether key, signature, time and form attest a body, so that they bind the layer too; of a key event all."""
    key, signature, signed, form, body = attested
    kind = b"application/vnd.prometheus.receipt+json;layer=%b;form=%b;signedAt=%b" % (layer.encode(), form, signed)
    return pae_holds(kind, body, key, signature) and (layer != "L3" or keys_are_held(body))


def keys_are_held(body: bytes) -> bool:
    """Say whether the keys that a key event names signed it, up to the first of their signatures (RF-27)."""
    event, said = json.loads(body), re.split(rb',"(?:previous|public)KeySignature":"', body)[0] + b"}"
    pairs = [(event[name], event.get(name + "Signature")) for name in ("previousKey", "publicKey")]
    kind = b"application/vnd.prometheus.key-event+json;layer=L3;form=v2"
    return all(pae_holds(kind, said, key.encode(), signature.encode()) for key, signature in pairs if signature)


def is_trusted(case: Case, key: bytes, *ids: int) -> bool:
    """Say whether a key may sign the entries with those ids, and so between them; with no key UNANCHORED says so."""
    return not case.anchored or any(all(map(known.covers, ids)) for known in case.keys.of(key, "entry"))


CHECKS: dict[str, Callable[[Any, Entry | None, Case], bool]] = {  # whether all rows hold
    "id": lambda rows, before, _: not before or [*rows.id] == [*range(before.id + 1, before.id + len(rows.id) + 1)],
    "link": lambda rows, before, _: (
        rows.link[1:] == rows.hash[:-1] and (not before or before.hash in (rows.link[0], b""))
    ),
    "tenant": lambda rows, _, case: set(rows.tenant) == {case.tenant},
    "hash": lambda rows, *_: [hex_of(body) for body in rows.body] == [*rows.hash],
    "time": lambda rows, before, _: [*rows.ms] == sorted(rows.ms) and (not before or rows.ms[0] >= before.ms),
    "key": lambda rows, _, case: all(is_trusted(case, key, rows.id[0], rows.id[-1]) for key in set(rows.key)),
    "signature": lambda rows, _, case: (
        case.options.level == "chain" or all(is_signed(row, case.layer) for row in zip(*rows[6:], strict=True))
    ),
}
PAGE = ("Ids contiguous", "Hash chain", "One tenant", "Body hashes", "Timestamps", "Trust anchor", "Signatures")
TITLES = dict(zip(CHECKS, PAGE, strict=True))  # what a page calls them


def judge_line(line: bytes, before: Entry | None, case: Case) -> tuple[Entry | None, str, Words]:
    """Judge one line after the entry before it: the entry unless malformed, the checks it fails, and their verdict."""
    entry = read_line(line, case.layer)
    if entry is None:
        name, check = diagnose(line, case.layer)
        return None, name, [check]
    rows = Entry._make((member,) for member in entry)
    failed = [check for check, holds in CHECKS.items() if not holds(rows, before, case)]
    return entry, "FORKED" if before and entry.id == before.id else "TAMPERED", failed


def ring_after(ring: Ring, event: dict[str, Any], chain: str) -> None:
    """Change whom a chain trusts by one more event of the key log; no range ever becomes wider (RF-28)."""
    at = next((row["atId"] for row in event["chains"] if row["chain"] == chain), 1)
    use, new, old = event["use"], event["publicKey"].encode(), (event["previousKey"] or "").encode()
    ends = [known.to_id for known in ring.of(old, use) if known.covers(at)]
    if event["event"] == "created" or (event["event"] == "rotated" and not ends):
        return
    ring.end(old or new, use, at)
    if old:
        ring.add(TrustedKey(new, use, at, None if None in ends else max(end for end in ends if end)))


class Verdict(NamedTuple):
    """A word of the closed enum; check, id and byte offset where a line decided."""

    name: str
    check: str | None = None
    id: int | None = None
    offset: int | None = None


PASS = Verdict("PASS")


# --- Blocks: the file flows through, never whole in memory. Workers judge blocks, this process joins the findings.


def grow(tree: list[bytes], node: bytes, height: int = 0) -> None:
    """Add a leaf or a complete subtree to the RFC 6962 tree, kept as its complete subtrees by height (RF-16)."""
    tree.extend([b""] * (height - len(tree)))
    while height < len(tree) and tree[height]:
        node, tree[height], height = sha256(b"\x01" + tree[height] + node), b"", height + 1
    tree[height : height + 1] = [node]


def root_of(tree: list[bytes]) -> bytes:
    """Give the root; that of no leaves is the hash of nothing (RF-16)."""
    right, *subtrees = [subtree for subtree in tree if subtree] or [sha256(b"")]
    for left in subtrees:
        right = sha256(b"\x01" + left + right)
    return right


Subtrees = list[tuple[int, bytes]]  # heights and roots, from left to right


def subtrees_of(leaves: list[bytes], index: int) -> Subtrees:
    """Fold leaves, of which the first has that index, into the largest complete subtrees of the chain's tree."""
    left: Subtrees = []
    right: Subtrees = []
    height = 0
    while leaves:
        if index % 2:
            left.append((height, leaves.pop(0)))
        if leaves and (index + index % 2 + len(leaves)) % 2:
            right.append((height, leaves.pop()))
        leaves = [sha256(b"\x01" + leaves[i] + leaves[i + 1]) for i in range(0, len(leaves), 2)]
        index, height = (index + 1) // 2, height + 1
    return left + right[::-1]


class Mark(NamedTuple):
    """Where a chain stood at one size: the newest entry's time and hash, and the root."""

    ms: int
    head: bytes
    root: bytes = b""


@dataclass
class Findings:
    """What lines showed: those of a block, or of the whole file once its blocks are joined."""

    bad: Verdict | None = None
    first: Entry | None = None
    last: Entry | None = None
    entries: int = 0
    lines: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # lines that fail a check, by check
    keys: Counter[bytes] = field(default_factory=Counter)  # entries by key
    before: Entry | None = None  # of a block: the entry that its first line was held against
    leaves: list[bytes] = field(default_factory=list)  # of a block
    marks: list[Mark] = field(default_factory=list)  # of a block, one a line
    pieces: list[tuple[Subtrees, int, Mark | None]] = field(default_factory=list)  # of a block, each up to some size
    tree: list[bytes] = field(default_factory=list)
    met: dict[int, Mark] = field(default_factory=dict)  # the marks that were asked for
    file_bytes: int = 0
    torn_bytes: int = 0

    def cut(self, number: int, sizes: set[int]) -> None:
        """Fold the leaves of a block whose first line has that number, up to each size that is asked for."""
        begin, end = number, number + self.lines - 1
        for size in sorted({end, *(size for size in sizes if number <= size < end)}):
            mark = self.marks[size - number] if size in sizes else None
            leaves = self.leaves[begin - number : size - number + 1]
            self.pieces.append((subtrees_of(leaves, begin - 1), size, mark))
            begin = size + 1
        self.leaves, self.marks = [], []  # they would be heavy on their way from another process

    def join(self, block: "Findings") -> None:
        """Add what the next block of the file showed."""
        if self.last and block.before and self.last.hash != block.before.hash:
            raise UsageError("the chain file was changed while it was read; verify it again")
        for subtrees, size, mark in block.pieces:
            for height, node in subtrees:
                grow(self.tree, node, height)
            if mark:
                self.met[size] = mark._replace(root=root_of(self.tree))
        for key, count in block.keys.items():
            if key in self.keys or len(self.keys) < MAX_KEYS_LISTED:
                self.keys[key] += count
        self.faults.update(block.faults)
        self.entries, self.lines = self.entries + block.entries, self.lines + block.lines
        self.bad, self.first, self.last = self.bad or block.bad, self.first or block.first, block.last or self.last


class Block(NamedTuple):
    """Whole lines of a file: the first one's number and offset, the line before it, and the bytes or where they are."""

    number: int
    offset: int
    previous: bytes | None
    data: bytes | None
    file: Path
    size: int


def origin_of(origin: str) -> Entry:
    """Give the imagined entry before the first one (RF-10); without an origin its hash is not known."""
    own_hash = hex_of(f"prometheus-receipts genesis v1\n{origin}\n".encode()) if origin else b""
    return Entry(0, 0, b"", b"", b"", own_hash, b"", b"", b"", b"", b"")


def judge_block(block: Block, case: Case) -> Findings:
    """Judge the lines of a block; it needs nothing else, so any process can do it."""
    data = block.data
    if data is None:
        with block.file.open("rb", buffering=0) as file:
            file.seek(block.offset)
            data = file.read(block.size)
    before = origin_of(case.origin) if block.previous is None else read_line(block.previous, case.layer)
    found = judge_at_once(data, before, case) or judge_by_line(data, block, before, case)
    found.before = before
    found.cut(block.number, case.sizes)
    return found


def judge_at_once(data: bytes, before: Entry | None, case: Case) -> Findings | None:
    """Judge all entries of a block together, in half the time; None unless that shows that everything holds.

    It decides nothing but that: whatever it does not understand is judged line by line, check by check.
    """
    pattern = grammar_of(case.layer, data[-6:-4], in_a_row=True)  # of the form in which the last line ends
    found = pattern.findall(data) if pattern and is_utf8(data) else []
    if not found or not before or not before.hash or case.layer == "L3":
        return None
    lines, opened, ids, times, isos, links, tenants, *others = zip(*found, strict=True)
    sizes, bodies = list(map(len, lines)), [body + b"}" for body in opened]
    own = [tenant or b"-" for tenant in tenants]
    rows: Any = Entry._make([list(map(int, ids)), list(map(int, times)), isos, links, own, *others, bodies])
    holds = (
        sum(sizes) + len(sizes) == len(data)  # the rows are all there is
        and max(sizes) <= MAX_STRING_BYTES
        and list(map(ms_of, rows.iso)) == rows.ms
        and (rows.signed == rows.iso or None not in map(ms_of_minute, {signed[:16] for signed in rows.signed}))
        and all(check(rows, before, case) for check in CHECKS.values())
    )
    if not holds:
        return None
    first, last = (Entry._make(member[at] for member in rows) for at in (0, -1))
    leaves = [hashlib.sha256(b"\x00" + line).digest() for line in lines]
    marks = list(map(Mark, rows.ms, rows.hash)) if case.sizes else []
    return Findings(None, first, last, len(lines), len(lines), keys=Counter(rows.key), leaves=leaves, marks=marks)


def judge_by_line(data: bytes, block: Block, entry: Entry | None, case: Case) -> Findings:
    """Judge lines one after the other; `entry` is the one before them."""
    found, offset = Findings(), block.offset
    for number, line in enumerate(data.split(b"\n")[:-1], block.number):
        entry, name, failed = judge_line(line, entry, case)
        if entry:
            found.first, found.last, found.entries = found.first or entry, entry, found.entries + 1
            found.keys[entry.key] += 1
        if failed:
            found.faults.update(failed)
            found.bad = found.bad or Verdict(name, failed[0], entry.id if entry else number, offset)
        elif entry and case.layer == "L3":  # each event decides whose line may be next
            event = json.loads(entry.body)
            ring_after(case.keys, event, "keys")
            for chain, ring in case.rings.items():
                ring_after(ring, event, chain)
        found.leaves.append(sha256(b"\x00" + line))
        found.marks.append(Mark(entry.ms, entry.hash) if entry else Mark(0, b""))
        offset, found.lines = offset + len(line) + 1, found.lines + 1
        if failed and case.options.stop_early:
            break
    return found


@dataclass
class Reader:
    """Cuts a file into blocks of whole lines, and goes on where it stopped once the file has grown."""

    path: Path
    number: int = 1  # of the next block's first line
    offset: int = 0
    previous: bytes | None = None
    size: int = 0  # bytes read so far

    def blocks(self, *, carried: bool = True) -> Iterator[Block]:
        """Read on to the end; 0x0A is the only line break (RF-1). Blocks carry bytes, or only say where they are.

        What was no line yet is read again: other bytes may stand there now.
        """
        with self.path.open("rb", buffering=0) as file:
            if self.offset:
                file.seek(self.offset)
            self.size, rest = self.offset, b""
            while piece := file.read(BLOCK_BYTES):
                data, self.size = rest + piece, self.size + len(piece)
                if end := data.rfind(b"\n") + 1:
                    size = self.size - (len(data) - end) - self.offset
                    lines = data[:end] if carried or size != end else None  # no endless line is read again whole
                    block = Block(self.number, self.offset, self.previous, lines, self.path, size)
                    self.number, self.offset = self.number + data.count(b"\n"), self.offset + size
                    self.previous = data[data.rfind(b"\n", 0, end - 1) + 1 : end - 1]
                    yield block
                rest = data[end:][: MAX_LINE_BYTES + 1]  # more of an endless line would not change how it is judged


def examine(reader: Reader, case: Case, found: Findings, run: "Run") -> None:
    """Judge what a file holds beyond what has been read of it, in several processes when that is much.

    A key log is judged in one process, since each event decides whose line may be next. Raises OSError when the file
    cannot be read.
    """
    status, asked, window = reader.path.stat(), case.options.workers, deque[Future[Findings]]()
    alone = case.layer == "L3" or not (asked or status.st_size - reader.offset >= PARALLEL_BYTES)
    workers = 1 if alone else asked or os.cpu_count() or 1

    def enough() -> bool:
        return found.bad is not None and bool(case.options.stop_early)

    def join_next() -> None:
        block = window.popleft().result()
        if not enough():
            found.join(block)

    with ProcessPoolExecutor(workers) if workers > 1 else ThreadPoolExecutor(1) as pool:
        for block in reader.blocks(carried=workers == 1):
            window.append(pool.submit(judge_block, block, case))
            if len(window) > 2 * workers:  # so many blocks are in memory, however long the file
                join_next()
                run.progress(reader.offset, status.st_size, found.lines)
            if enough() or run.stopped.is_set():
                break
        while window:
            join_next()
    ended = enough() or run.stopped.is_set()
    found.file_bytes = max(status.st_size, reader.size) if ended else reader.size
    found.torn_bytes = 0 if ended else reader.size - reader.offset


def lines_of(file: Path) -> Iterator[bytes]:
    """Give the whole lines of a file one by one."""
    for block in Reader(file).blocks():
        yield from (block.data or b"").split(b"\n")[:-1]


def find_fork(chain: Path, copy: Path) -> int | None:
    """Give the id at which two sound copies first differ; None when they agree as far as both go."""
    pairs = enumerate(zip(lines_of(chain), lines_of(copy), strict=False), 1)
    return next((number for number, (line, other) in pairs if line != other), None)


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


MAX_SIGNATURES = 16
BOUNDS = {"policy": 1 << 20, "checkpoint": 64 << 10, "proof": 256 << 10, "state": 66 << 10}


def check_file(given: str | Path, kind: str = "") -> Path:
    """Give the path of a regular file, not larger than its kind can be; raises UsageError, or OSError.

    A pipe would be read once only, and look empty the second time.
    """
    status, limit = os.stat(given), BOUNDS.get(kind)  # noqa: PTH116 - a Path would forget that it ended in a slash
    if not S_ISREG(status.st_mode):
        raise UsageError(f"{given} is not a regular file; save it to one first.")
    if limit is not None and status.st_size > limit:
        raise UsageError(f"{given} has {status.st_size} bytes; a {kind} has at most {limit}.")
    return Path(given)


def printable(text: str) -> str:
    """Give text from outside as it may be printed."""
    return re.sub("[^ -~]", "?", text)


def listed(names: Iterable[str]) -> str:
    """Give names as one list that may be printed."""
    return ", ".join(sorted(map(printable, names)))


class Policy(NamedTuple):
    """Whom one chain trusts (RF-18)."""

    origin: str
    chain: str
    tenant: str
    keys: list[TrustedKey]

    @property
    def place(self) -> Place:
        """Give the layer and tenant that it is for."""
        return LAYERS.get(self.chain, ""), self.tenant.encode()


def read_policy(file: Path) -> Policy:
    """Read a policy; raises UsageError for anything but exactly one."""
    text = check_file(file, "policy").read_bytes().decode(errors="replace")
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
    return Policy(policy["origin"], match[1], match[2], trusted)


def head_of(note: bytes) -> tuple[int, bytes]:
    """Give size and root that a checkpoint claims, whoever signed it."""
    match = NOTE.fullmatch(note)
    return (int(match[3]), binascii.a2b_base64(match[4])) if match else (0, b"")


def read_note(name: object, note: bytes, case: Case) -> tuple[int, bytes]:
    """Read size and root of a checkpoint that a key of the policy signed for its origin (RF-17); else UsageError."""
    match = NOTE.fullmatch(note)
    text, log, size, _, lines = match.groups() if match else [b"", b"", b"0", b"", b""]
    if not match or log != case.origin.encode():
        raise UsageError(f"{name}: it is not a signed checkpoint of {case.origin or 'a log that a policy names'}")
    ours = [line.split(b" ")[2] for line in lines.split(b"\n")[:-1] if line.split(b" ")[1] == log]
    holds = []
    for key in (binascii.a2b_base64(k.key) for k in case.keys if k.use == "checkpoint" and k.covers(max(int(size), 1))):
        blobs = [blob for blob in map(binascii.a2b_base64, ours) if blob[:4] == sha256(log + b"\n\x01" + key)[:4]]
        if len(blobs) > MAX_SIGNATURES:
            raise UsageError(f"{name}: more than {MAX_SIGNATURES} of its lines are for one key")
        holds += [ed25519_holds(key, text, blob[4:]) for blob in blobs]
    if not holds or not all(holds):
        raise UsageError(f"{name}: no checkpoint key of the policy signed it")
    return head_of(note)


def follow_key_log(file: Path, cases: list[Case], notes: dict[str, bytes], run: "Run") -> None:
    """Lead the keys of chains under one policy on by the key log, once that passes by itself (RF-28, RF-29)."""
    first, keys, found = cases[0], [*cases[0].keys], Findings()
    origin = key_log_of(first)
    plain = {"level": "full", "stop_early": False, "max_age": None, "min_entries": 0}
    options = argparse.Namespace(**{**vars(first.options), **plain})
    ours = {name: note for name, note in notes.items() if origin and log_of(note) == origin}
    log = Case([file], "L3", first.tenant, options, origin, Ring(keys), anchored=True)
    for held in [{}, ours] if ours else [{}]:  # the second time under what the whole log leaves (RF-29)
        for name, note in held.items():
            log.add_checkpoint(name, note)
        log.keys, found = Ring(endless(keys)), Findings()
        log.rings = {CHAINS.get(case.layer, ""): Ring(keys) for case in cases}
        examine(Reader(file), log, found, run)
        verdict = decide(log, [found], None, 0)
        if verdict.name != "PASS":
            where = f", id {verdict.id}" if verdict.id else ""
            where += f", check {verdict.check}" if verdict.check else ""
            raise UsageError(f"{file}: this key log is no evidence, its verdict is {verdict.name}{where}")
    if found.last is None:
        raise UsageError(f"{file}: this key log is no evidence, it holds no events")
    told = [f"Key log {printable(file.name)}: {found.lines} entries, head {found.last.hash.decode()}."]
    if not ours:
        told.append("No checkpoint of the key log was given: a rotation or revocation cut from its end cannot be seen.")
    for case in cases:
        case.key_log, case.keys, case.told = True, log.rings[CHAINS.get(case.layer, "")], told


def key_log_of(case: Case) -> str:
    """Give the origin of the key log beside a chain, empty without an origin."""
    return re.sub("/.*/", "/keys/", case.origin)


def endless(keys: Iterable[TrustedKey]) -> list[TrustedKey]:
    """Give the keys a key log starts from: a policy's ranges for entries are about its own chain (RF-29)."""
    return [TrustedKey(key.key, key.use) if key.use == "entry" else key for key in keys]


def log_of(note: bytes) -> str:
    """Give the origin that a checkpoint names."""
    return note.partition(b"\n")[0].decode(errors="replace")


# --- Verdict (RF-22): the earliest bad line of the first copy that has one; else the first that applies of the table.


def first_of(applies: Sequence[tuple[object, Verdict | None]]) -> Verdict:
    """Give the first verdict that applies, PASS when none does."""
    return next((verdict for holds, verdict in applies if holds and verdict), PASS)


def meets(case: Case, copies: Sequence[Findings]) -> list[tuple[int, bool]]:
    """Say of each checkpoint whether the chain reaches its size and every copy that does has its root (RF-17)."""
    roots = [{0: root_of([]), **{size: mark.root for size, mark in copy.met.items()}} for copy in copies]
    return [(s, s in roots[0] and all(met.get(s, root) == root for met in roots)) for s, root in case.checkpoints]


def decide(
    case: Case, copies: Sequence[Findings], fork: int | None, now_ms: int, lost: Verdict | None = None
) -> Verdict:
    """Give the first verdict that applies; `lost` is what was seen of the whole file, by whatever key."""
    chain, newest = copies[0], max((size for size, _ in case.checkpoints), default=0)
    age_ms = now_ms - chain.met[newest].ms if newest in chain.met else now_ms
    torn = [copy.file_bytes - copy.torn_bytes for copy in copies if copy.torn_bytes]
    max_age, least = case.options.max_age, case.options.min_entries
    return first_of([
        *((copy.bad, copy.bad) for copy in copies),
        (lost, lost),
        (not case.anchored, Verdict("UNANCHORED")),
        (newest > chain.lines, Verdict("TRUNCATED", "checkpoint")),
        (least > chain.lines, Verdict("TRUNCATED", "min-entries")),
        (not all(met for _, met in meets(case, copies)), Verdict("FORKED", "checkpoint")),
        (fork is not None, Verdict("FORKED", "copies", fork)),
        *((True, Verdict("TORN_TAIL", "framing", None, offset)) for offset in torn),
        (max_age is not None and (not newest or age_ms > max_age), Verdict("STALE", "max-age")),
    ])  # fmt: skip


# --- Report: numbers, hashes, times and words of this file, never an entry's text, so that no terminal obeys it.

Notes = Sequence[tuple[object, str]]
MARKS = {True: "ok", False: "FAIL", None: "-"}
LIMITS = """What a PASS does not prove: that a record is true, that every act was recorded, that the clock was right
before the first anchor, or (without a checkpoint) that nothing was cut from the end.
"""


class Report(NamedTuple):
    """One finished report: the input's name as it may be printed, its JSON, its page."""

    name: str
    data: dict[str, Any]
    text: str


def fact(label: str, words: object) -> str:
    """Lay out a line of a page."""
    return f"{label:18}{words}"


def marked(label: str, ok: bool | None, words: object) -> str:
    """Lay out a line of a page with a mark for what passed, failed, or was not looked at."""
    return f"{label:18}{MARKS[ok]:6}{words}"


def make_report(
    kind: str, case: Case, verdict: Verdict, *, size: int, told: dict[str, Any], page: Words, notes: tuple[Notes, Notes]
) -> Report:
    """Make one report of a file of that many bytes.

    Every kind begins with its input, or verdict, and ends with the notes; between them stands what is its own: members
    of the JSON, lines of the page, notes to stand before and after that on the level.
    """
    all_notes = [
        (not case.anchored, "No key was given from outside: anyone can write a chain that carries its own key."),
        (case.unfit, "None of the policies given is for this chain."),
        *((True, note) for note in case.told),
        *notes[0],
        (case.options.level == "chain", "Level chain does not check signatures: a forged one passes unseen."),
        *notes[1],
    ]
    name, code = printable(case.files[0].name), EXITS.index(verdict.name)
    place = {"id": verdict.id, "check": verdict.check, "offset": verdict.offset}
    data = {"verdict": verdict.name, "exit": code, **place, **told}
    data["notes"] = [note for holds, note in all_notes if holds]
    where = "".join(f", {word} {value}" for word, value in place.items() if value is not None)
    lines = [
        f"RECEIPT {kind.upper()} VERIFICATION\n",
        fact(f"{kind} file", f"{name}, {size} bytes"),
        fact("Origin", case.origin or "not given"),
        fact("Layer, tenant", f"{case.layer or 'not known'}, {case.tenant.decode()}"),
        fact("Level", f"{case.options.level}\n"),
        *page,
        fact("VERDICT", f"{verdict.name} (exit {code}){where}\n"),
        *(f"Note: {note}" for note in data["notes"]),
        LIMITS,
    ]
    return Report(name, data, "\n".join(lines))


def keys_told(case: Case, counts: Counter[bytes]) -> tuple[list[dict[str, Any]], Words, tuple[object, str]]:
    """Give the keys that signed entries or may, the trusted first, with their ranges once a key log changed these.

    They come as JSON and as lines, and with a note on the first that nobody trusts.
    """
    spans: dict[bytes, list[tuple[int, int | None]]] = {}
    for key, use, start, end in case.keys:
        if use == "entry":
            spans.setdefault(key, []).append((start, end))
    keys, lines = [], []
    for key in dict.fromkeys([*spans, *counts]):
        told = {"fingerprint": sha256(binascii.a2b_base64(key)).hex(), "entries": counts[key]}
        known, ranges = "trusted" if key in spans else "not trusted", spans.get(key, []) if case.key_log else []
        span = " and ".join(f"from {start} on" if end is None else f"from {start} to {end}" for start, end in ranges)
        keys.append(told | ({"ranges": ranges} if case.key_log else {}))
        lines.append(f"  key {told['fingerprint']} {known}{span and ' '}{span}, {counts[key]} entries")
    stranger = keys[len(spans)]["fingerprint"] if len(keys) > len(spans) else ""
    way = "if it came by a rotation, give the key log with --key-log."
    note = f"Key {stranger} is not trusted by the policy; {way}"
    return keys, lines, (case.anchored and not case.key_log and stranger, note)


def checks_told(case: Case, checks: Sequence[str], faults: Counter[str], entries: int) -> Words:
    """Give a line a check: how many entries hold."""
    skipped = {"key": not case.anchored, "signature": case.options.level == "chain"}
    return [
        marked(TITLES[check], None, "not checked")
        if skipped.get(check)
        else marked(TITLES[check], not faults[check] if entries else None, f"{entries - faults[check]}/{entries}")
        for check in checks
    ]


# --- A chain.


ORDINALS = {2: "The second copy", 3: "The third copy"}
MAX_AHEAD_MS = 5 * 60 * 1000  # two clocks differ by less


@dataclass
class Judged:
    """A chain and what was found of it and its copies."""

    case: Case
    copies: list[Findings]
    fork: int | None = None
    repeated: int | None = None
    lost: Verdict | None = None  # what was seen of the whole file
    notes: Words = field(default_factory=list)
    verdict: Verdict = PASS
    stranger: tuple[object, str] = (False, "")  # a note on the first key that nobody trusts

    @property
    def sound(self) -> bool:
        """Say whether no copy has a bad line; else head and root have no meaning."""
        return not any(copy.bad for copy in self.copies)


def judge_chain(case: Case, run: "Run") -> Judged:
    """Judge a chain and its copies; raises OSError when one cannot be read."""
    file, *others = case.files
    if case.options.follow:
        judged = follow(case, run)
    else:
        cases = [replace(case, keys=Ring(case.keys)) for _ in case.files]  # a key log changes its case's keys
        judged = Judged(cases[0], [Findings() for _ in case.files])
        for each, name, found in zip(cases, case.files, judged.copies, strict=True):
            examine(Reader(name), each, found, run)
        forks = [find_fork(file, copy) for copy in others]
        judged.fork = min((number for number in forks if number), default=None)
    if case.options.unique and judged.sound:
        judged.repeated = find_repeat(file, case.layer)
    if judged.repeated and not judged.lost:
        judged.lost = Verdict("TAMPERED", "unique", judged.repeated)
    newest = judged.copies[0].met.get(max((size for size, _ in case.checkpoints), default=0))
    if case.options.max_age is not None and newest and newest.ms > run.now_ms + MAX_AHEAD_MS:
        judged.notes.append("The newest checkpoint lies in the future by the clock of this machine.")
    judged.verdict = decide(judged.case, judged.copies, judged.fork, run.now_ms, judged.lost)
    return judged


def other_chain(case: Case, bad: Verdict | None) -> str:
    """Give the name of the chain that a first line which its table refuses looks like; empty when it is none."""
    if not case.origin or not bad or (bad.offset, bad.check) != (0, "schema"):
        return ""
    line = next(lines_of(case.files[0]))
    return next((CHAINS[layer] for layer in GRAMMARS if read_line(line, layer)), "")


def report_chain(judged: Judged) -> Report:
    """Write the report of a chain: head and root are None when a bad line leaves them without meaning."""
    case, chain, sound, options = judged.case, judged.copies[0], judged.sound, judged.case.options
    keys, key_lines, judged.stranger = keys_told(case, chain.keys)
    members: dict[str, Any] = {
        "entries": chain.entries,
        "signatures": chain.entries - chain.faults["signature"] if options.level == "full" else 0,
        "headHash": chain.last.hash.decode() if sound and chain.last else None,
        "rootHash": root_of(chain.tree).hex() if sound else None,
        "earliest": chain.first.iso.decode() if chain.first else None,
        "latest": chain.last.iso.decode() if chain.last else None,
        "keys": keys,
        "checkpoints": [{"size": size, "ok": met if sound else None} for size, met in meets(case, judged.copies)],
        "anchor": None,
    }
    malformed = chain.lines - chain.entries
    unique: tuple[bool | None, object] = (None, "not compared") if not sound else (True, chain.entries)
    unique = (False, f"repeated at id {judged.repeated}") if judged.repeated else unique
    unique = unique if chain.lines else (None, unique[1])  # of no line nothing is checked
    met = {True: "met", False: "not met", None: "not compared"}
    lines = [
        marked("Entries", True if chain.lines else None, chain.entries),
        marked("Malformed lines", not malformed if chain.lines else None, malformed),
        *checks_told(case, tuple(CHECKS), chain.faults, chain.entries),
        *key_lines,
        *([marked("Unique ids", *unique)] if options.unique else []),
        *(marked("Checkpoint", one["ok"], f"size {one['size']}, {met[one['ok']]}") for one in members["checkpoints"]),
        *([] if case.checkpoints else [marked("Checkpoints", None, "none given, so a cut tail cannot be seen")]),
        marked("Anchor age", None, "no anchor given\n"),
        fact("Head hash", members["headHash"] or "none"),
        fact("Root hash", members["rootHash"] or "none"),
        fact("Earliest", members["earliest"] or "none"),
        fact("Latest", f"{members['latest'] or 'none'}\n"),
    ]
    untold = [
        (not case.origin, "No policy named the origin: the first link was not held against a genesis hash."),
        (not case.checkpoints, "No checkpoint was given: entries cut from the end cannot be seen."),
    ]
    notes, size = (untold, chain_notes(judged)), chain.file_bytes
    return make_report("Chain", case, judged.verdict, size=size, told=members, page=lines, notes=notes)


def chain_notes(judged: Judged) -> Notes:
    """Say what a person must know of how a chain, its tail and its copies were read."""
    case, chain, sound, early = judged.case, judged.copies[0], judged.sound, judged.case.options.stop_early
    torn, lines, least, other = chain.torn_bytes, chain.lines, case.options.min_entries, other_chain(case, chain.bad)
    compared = "not compared" if not sound else f"they differ at id {judged.fork}" if judged.fork else "they agree"
    notes = [
        (early and not sound, "Judging stopped at the first bad line; what follows it was not read."),
        (torn, f"{torn} bytes after the last line break are a torn tail, not judged."),
        (not lines, "This chain is empty: nothing was checked."),
        (judged.verdict.check == "min-entries", f"{lines} entries, at least {least} were asked for."),
        judged.stranger,
        (other, f"The policy is for {CHAINS.get(case.layer)}; the first line looks like {other}."),
        *((True, note) for note in judged.notes),
    ]
    for number, copy in enumerate(judged.copies[1:], 2):
        name, state = ORDINALS.get(number, f"Copy {number}"), "some bad" if copy.bad else "none bad"
        notes.append((True, f"{name} has {copy.lines} lines, {state}; {compared}."))
    return notes


# --- An entry that stands alone: in a state, or in a proof.

Note = tuple[object, str]  # what must hold for it to be said
# With the verdict when it fails, JSON and page.
Alone = tuple[Entry | None, Verdict | None, dict[str, Any], Words, Note]


def judge_alone(case: Case, line: bytes, before: Entry | None, number: int | None, offset: int | None) -> Alone:
    """Judge an entry; a verdict speaks of that id, when the line has none, and of that offset."""
    entry, name, failed = judge_line(line, before, case)
    bad = Verdict(name, failed[0], entry.id if entry else number, offset) if failed else None
    keys, key_lines, stranger = keys_told(case, Counter([entry.key] if entry else []))
    members = {
        "entries": int(entry is not None),
        "signatures": int(entry is not None and case.options.level == "full" and "signature" not in failed),
        "entryHash": entry.hash.decode() if entry and not bad else None,
        "recordedAt": entry.iso.decode() if entry else None,
        "keys": keys,
    }
    read = f"id {entry.id}, recorded {members['recordedAt']}" if entry else failed[0]
    checks = ("tenant", "hash", "key", "signature") if entry else ()
    lines = [marked("Entry", entry is not None, read), *checks_told(case, checks, Counter(failed), 1), *key_lines]
    return entry, bad, members, lines, stranger


# --- A state (RF-30): one line of the chain `state`, and what it says of every other chain.


def read_state(file: Path) -> tuple[bytes, Entry | None]:
    """Read state.json and the entry in it, None when its line is not one."""
    with check_file(file, "state").open("rb") as opened:
        content = opened.read(MAX_LINE_BYTES + 2)
    return content, read_line(content.removesuffix(b"\n"), "L1")


def rows_of(entry: Entry | None) -> list[dict[str, Any]]:
    """Give what a state says of each chain; of its own that it ends here."""
    own = {"chain": "state", "size": entry.id, "rootHash": None, "headHash": entry.hash.decode()} if entry else {}
    return [*json.loads(entry.body)["chains"], own] if entry else []


def compare(row: dict[str, Any], chain: Judged | None) -> str:
    """Say how a chain stands to its row in a state."""
    if chain is None or not chain.sound:
        return "not compared" if chain else "not given"
    found, size = chain.copies[0], row["size"]
    if found.lines < size:
        return "shorter"
    origin = origin_of(chain.case.origin).hash or row["headHash"].encode()
    mark = found.met[size] if size else Mark(0, origin, root_of([]))
    same = row["rootHash"] in (mark.root.hex(), None) and row["headHash"].encode() == mark.head
    return "met" if same else "another root or head"


MATCHES = {"met": True, "shorter": False, "not in the folder": False, "another root or head": False}


def report_state(case: Case, chains: dict[Place, Judged]) -> Report:
    """Judge a state by itself and against the chains that were given."""
    content, _ = read_state(case.files[0])
    entry, bad, members, lines, stranger = judge_alone(case, content.removesuffix(b"\n"), None, None, 0)
    rows = []
    for row in rows_of(entry):
        word = compare(row, chains.get((LAYERS.get(row["chain"], ""), case.tenant)))
        if row["rootHash"] is None and word == "not given":
            continue  # nobody misses the chain of the states
        absent = case.beside is not None and f"{row['chain']}.jsonl" not in case.beside
        word = "not in the folder" if word == "not given" and absent and row["size"] else word
        word = "not compared" if bad else word
        rows.append((row, word, MATCHES.get(word)))
    words = [word for _, word, _ in rows]
    missing = ", ".join(row["chain"] for row, word, _ in rows if word == "not given")
    verdict = first_of([
        (not content.endswith(b"\n"), Verdict("TORN_TAIL", "framing", None, 0)),
        (bad, bad),
        (not case.anchored, Verdict("UNANCHORED")),
        ("shorter" in words or "not in the folder" in words, Verdict("TRUNCATED", "state")),
        ("another root or head" in words, Verdict("FORKED", "state")),
    ])  # fmt: skip
    members["chains"] = [{"chain": row["chain"], "size": row["size"], "ok": ok} for row, _, ok in rows]
    lines += [marked(f"  {row['chain']}", ok, f"size {row['size']}, {word}") for row, word, ok in rows]
    lines += ["", fact("Entry hash", f"{members['entryHash'] or 'none'}\n")]
    states, number = chains.get(("L1", case.tenant)), entry.id if entry else 0
    newest = states.copies[0].lines if states else 0
    notes = [
        stranger,
        (entry and newest > number, f"This is state {number}; the chain of states goes on to {newest}."),
        (missing, f"These chains were not given, so their rows were compared with nothing: {missing}."),
    ]
    size = case.files[0].stat().st_size
    return make_report("State", case, verdict, size=size, told=members, page=lines, notes=((), notes))


# --- A proof of one entry (RF-32): the entry, its path up the tree, and the checkpoint there.

PROOF_TITLE = b"c2sp.org/tlog-proof@"
PROOF = re.compile(
    rb"c2sp[.]org/tlog-proof@v1\nextra (%b)\nindex (0|[1-9][0-9]{0,15})\n((?:%b\n){0,63})\n(.*)"
    % (BASE64.encode(), BASE64_32.encode()),
    re.DOTALL,
)


class Proof(NamedTuple):
    """A proof as it was read: the line, its leaf index, the path, and the checkpoint's note; nothing is judged yet."""

    line: bytes
    leaf: int
    path: list[bytes]
    note: bytes


def read_proof(file: Path) -> Proof:
    """Read a C2SP tlog-proof that carries its line; raises UsageError for anything else."""
    match = PROOF.fullmatch(check_file(file, "proof").read_bytes())
    line = binascii.a2b_base64(match[1]) if match else b""
    exact = match is not None and binascii.b2a_base64(line, newline=False) == match[1]
    if not match or not exact or not NOTE.fullmatch(match[4]) or int(match[2]) >= MAX_INTEGER:
        raise UsageError(f"{file}: it is not a proof of one entry, c2sp.org/tlog-proof@v1 with the line as extra")
    return Proof(line, int(match[2]), [binascii.a2b_base64(node) for node in match[3].split(b"\n")[:-1]], match[4])


def leads_to(root: bytes, leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bool:
    """Say whether a path leads from a leaf to the root of the tree of that size (RFC 9162 section 2.1.3.2)."""
    last, node = size - 1, leaf
    if index > last:
        return False
    for sibling in path:
        if last == 0:
            return False
        if index % 2 or index == last:
            node = sha256(b"\x01" + sibling + node)
            while index and index % 2 == 0:
                index, last = index // 2, last // 2
        else:
            node = sha256(b"\x01" + node + sibling)
        index, last = index // 2, last // 2
    return index == last == 0 and node == root


def report_proof(proof: Proof, case: Case) -> Report:
    """Judge a proof of one entry; raises UsageError when its checkpoint is no evidence under the policy there is."""
    file, number, signed = case.files[0], proof.leaf + 1, bool(case.anchored and case.origin)
    size, root = read_note(file, proof.note, case) if signed else head_of(proof.note)
    first = number == 1 and proof.line.startswith(b'{"id":1,')  # whose link can be checked
    before = origin_of(case.origin) if first else None
    entry, bad, members, lines, stranger = judge_alone(case, proof.line, before, number, None)
    leads = leads_to(root, sha256(b"\x00" + proof.line), proof.leaf, size, proof.path)
    leads = leads and entry is not None and entry.id == number
    verdict = first_of([
        (bad, bad),
        (not signed, Verdict("UNANCHORED")),
        (not leads, Verdict("FORKED", "proof", entry.id if entry else number)),
    ])  # fmt: skip
    members |= {
        "index": proof.leaf,
        "checkpoint": {"size": size, "rootHash": root.hex(), "ok": signed or None},
        "inclusion": leads,
    }
    by = "by a trusted key" if signed else "not checked"
    path = f"{len(proof.path)} hashes {'lead' if leads else 'do not lead'} to its root\n"
    lines += [
        marked("Checkpoint", signed or None, f"size {size}, signature {by}"),
        marked("Inclusion", leads, f"index {proof.leaf}, {path}"),
        fact("Entry hash", members["entryHash"] or "none"),
        fact("Root hash", f"{root.hex()}\n"),
    ]
    untold = "No policy named the origin and a checkpoint key: the checkpoint's signature was not checked."
    notes = [stranger, (True, "This is about one entry: nothing is said of the entries around it.")]
    both, bytes_ = ([(not signed, untold)], notes), file.stat().st_size
    return make_report("Proof", case, verdict, size=bytes_, told=members, page=lines, notes=both)


# --- A chain that grows: judged as far as it goes, then watched.

POLL_SECONDS = 0.2


def follow(began: Case, run: "Run") -> Judged:
    """Judge a file and what is appended to it, until a line is bad, the file is cut or exchanged, or a signal comes."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: run.stopped.set())
    file, lost = began.files[0], None
    notes = ["Lines that were judged are not read again: a change in place after that is not seen."]
    reader, found, inode, case = Reader(file), Findings(), file.stat().st_ino, replace(began, keys=Ring(began.keys))
    while True:
        status, old, lines = file.stat() if file.exists() else None, found, found.lines
        size = status.st_size if status else 0
        if status and status.st_ino != inode:
            check_file(file)
            inode, case = status.st_ino, replace(began, keys=Ring(began.keys), sizes={*began.sizes, lines})
            reader, found = Reader(file), Findings()
            examine(reader, case, found, run)
            notes.append(f"The file was replaced after {lines} lines; the new one has {found.lines}.")
            if found.lines < lines:
                lost = Verdict("TRUNCATED", "follow")
            elif lines and found.met[lines].root != root_of(old.tree):
                lost = Verdict("FORKED", "follow")
            found = old if lost else found
        elif size < reader.offset:
            lost = Verdict("TRUNCATED", "follow")
            notes.append(f"The file had {reader.size} bytes and now has {size}.")
        else:
            examine(reader, case, found, run)
        if found.lines > lines:
            run.tell(f"verify: {found.lines} entries, {found.bad.name if found.bad else 'all hold so far'}\n")
        if lost or found.bad or run.stopped.wait(POLL_SECONDS):
            return Judged(case, [found], lost=lost, notes=notes)


# --- Ids that name an entry once in its chain (RF-23), looked for with --unique only.

IDENTITIES = {
    "L2": rb'"specHash":"(\w+)"()',
    "L4": rb'"buildId":"(b_\w+)"()',
    "L5": rb'"callId":"(c_\w+)".*"state":"(\w+)"',
    "L6": rb'"reviewId":"(r_\w+)"()',
    "L10": rb'"turnId":"(t_\w+)".*"outcome":"(\w+)"',
    "L11": rb'"versionId":"(v_\w+)"()',
    "L12": rb'"callId":"(c_\w+)"()',
}
MAX_SUSPECTS = 1 << 16


def identities(file: Path, layer: str) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Give id, identity, what belongs to it and a 64-bit hash for each entry of a sound chain."""
    pattern = re.compile(IDENTITIES[layer])
    for number, line in enumerate(lines_of(file), 1):
        if match := pattern.search(line):
            name = match[1] + match[2] if layer == "L5" else match[1]
            yield number, name, match[2], int.from_bytes(sha256(name)[:8], "big")


def find_repeat(file: Path, layer: str) -> int | None:
    """Give the id of the first entry that repeats an identity; None when each is alone, or the layer has none.

    It keeps 8 bytes an entry; where two hashes are equal it reads the file once more, to compare what they are hashes
    of. A turn that was recorded as interrupted may be reported late, once (RF-24).
    """
    if layer not in IDENTITIES:
        return None
    hashes = [array("Q") for _ in range(256)]  # sorted part by part, since a list of all would be four times as large
    for *_, digest in identities(file, layer):
        hashes[digest >> 56].append(digest)
    suspects = set([one for some in hashes for one, other in pairwise(sorted(some)) if one == other][:MAX_SUSPECTS])
    known: dict[bytes, bytes] = {}
    for number, name, state, digest in identities(file, layer) if suspects else ():
        late = layer == "L10" and known.get(name) == b"interrupted" != state
        if digest in suspects and name in known and not late:
            return number
        if digest in suspects:
            known[name] = state
    return None


# --- Command line.


@dataclass
class Run:
    """What one run of the command has beside its arguments: the clock, a place to tell things, a way to be stopped."""

    now_ms: int
    tell: Callable[[str], object]
    show: Callable[[str], object]
    stopped: threading.Event = field(default_factory=threading.Event)
    shown_at: float = 0.0

    def progress(self, done: int, total: int, lines: int) -> None:
        """Show how far the reading is, five times a second, when a person watches."""
        if (now := time.monotonic()) > self.shown_at + POLL_SECONDS:
            self.shown_at = now
            self.show(f"\r{100 * done // max(total, 1):3} %, {lines} lines ")


class CommandLine(argparse.ArgumentParser):
    """A parser whose errors are one sentence, told as all usage errors are."""

    def error(self, message: str) -> Any:
        """Raise UsageError."""
        raise UsageError(message)


def banner() -> str:
    """Name this verifier, its version and the SHA-256 of its own file, by which anyone can tell which one judged."""
    return f"verify.py {VERSION} sha256 {sha256(Path(__file__).read_bytes()).hex()}\n"


def spelled(pattern: str, words: str, convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make a reader of values that are spelled so; what is not is an error in those words."""

    def read(text: str) -> Any:
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"it takes {words}, not {text!r}")
        return convert(text)

    return read


UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
COUNTS = spelled("[0-9]{1,15}", "a whole number", int)
CREW = spelled("(?=.{1,15}$)0*(?:[1-9]|[1-5][0-9]|6[0-4])", "a number from 1 to 64", int)
SPAN = "a number and s, m, h or d, such as 24h"
AGES = spelled("[0-9]{1,15}[smhd]", SPAN, lambda text: int(text[:-1]) * UNITS[text[-1]])
PATHS = spelled("(?s:.+)", "a path", str)
KEYS = spelled(BASE64_32, "the base64 of 32 bytes", lambda text: TrustedKey(text.encode(), "entry"))


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; raises UsageError."""
    raw = argparse.RawDescriptionHelpFormatter
    line = CommandLine("verify.py", description=__doc__, formatter_class=raw, allow_abbrev=False)
    several: dict[str, Any] = {"action": "append", "default": []}
    add = line.add_argument
    add("inputs", metavar="INPUT", nargs="+", type=PATHS, help="a chain, a tlog-proof, a state.json, or their folder")
    add("--policy", metavar="FILE", type=PATHS, help="origin and keys you trust, or a folder of policies", **several)
    add("--trusted-key", metavar="BASE64", type=KEYS, help="an entry key to trust", **several)
    add("--key-log", metavar="FILE", type=PATHS, help="the chain keys: leads on from the keys you trust")
    add("--checkpoint", metavar="FILE", type=PATHS, help="a signed tree head to meet", **several)
    add("--min-entries", metavar="N", type=COUNTS, default=0, help="TRUNCATED below so many")
    add("--max-age", metavar="AGE", type=AGES, help="STALE when no checkpoint is as new as 90m, 24h, 7d")
    add("--level", choices=("chain", "full"), default="full", help="chain leaves the signatures out")
    add("--layer", choices=tuple(GRAMMARS), default="", help="when no policy tells it")
    add("--unique", action="store_true", help="also look for ids that repeat; reads the chain once more")
    add("--follow", action="store_true", help="go on while the chain grows, until a signal")
    add("--stop-early", action="store_true", help="stop at the first bad line")
    add("--workers", metavar="N", type=CREW, default=0, help="processes; else one a core")
    add("--json", action="store_true", help="print one JSON object")
    add("--version", action="version", version=banner())
    return line.parse_intermixed_args(arguments)


def read_policies(options: argparse.Namespace) -> list[Policy]:
    """Read the policies, those of a folder by name; raises UsageError for none in a folder, or two for one chain."""
    files: list[Path] = []
    for given in options.policy:
        folder = Path(given)
        names = [file.name for file in folder.iterdir()] if is_folder(given) else []
        names = [name for name in names if re.fullmatch("(?s:policy-.*[.]json)", name)]
        if is_folder(given) and not names:
            raise UsageError(f"{given}: there is no policy in this folder, no file such as policy-decisions.json")
        files += [folder / name for name in sorted(names)] if names else [check_file(given, "policy")]
    policies = [read_policy(file) for file in files]
    if len({policy.place for policy in policies}) < len(policies):
        raise UsageError("two policies are for one chain of one tenant; give one")
    return policies


@dataclass
class Inputs:
    """The files that were given, by kind; what lies beside them in folders; and whether they are several things."""

    chains: list[Path] = field(default_factory=list)
    states: list[tuple[Path, set[str] | None]] = field(default_factory=list)  # with the names in its folder
    proofs: list[Path] = field(default_factory=list)
    strays: Words = field(default_factory=list)  # files that are named after no chain
    folders: Words = field(default_factory=list)  # folders in these folders
    several: bool = False


def is_folder(place: str | Path) -> bool:
    """Say whether there is a folder of that name."""
    return os.path.isdir(place)  # noqa: PTH112 - a Path would take nothing for the current folder


def read_inputs(options: argparse.Namespace) -> Inputs:
    """Tell chains, states, proofs and folders apart; raises UsageError for what is none of these, else OSError."""
    inputs = Inputs()
    for given in options.inputs:
        if is_folder(given):
            read_folder(Path(given), inputs)
            inputs.several = True
        elif (path := Path(given)).suffix == ".json":
            inputs.states.append((check_file(given), None))
        else:
            check_file(given)
            (inputs.proofs if is_proof(path) else inputs.chains).append(path)
    for file in inputs.chains:
        check_file(file)
    return inputs


def read_folder(place: Path, inputs: Inputs) -> None:
    """Add what lies in a ledger's folder, and take down what in it is not looked at; raises UsageError, or OSError."""
    inner = place / "chains"
    home = inner if is_folder(inner) else place
    names = {folder: [file.name for file in folder.iterdir()] for folder in (place, home)}
    chains = [home / f"{chain}.jsonl" for chain in LAYERS if f"{chain}.jsonl" in names[home]]
    states = [place / "state.json"] if "state.json" in names[place] else []
    if not chains + states:
        raise UsageError(f"{place}: there is no chain in this folder, no file such as decisions.jsonl")
    for folder, inside in names.items():
        for name in inside:
            shown = name if folder == place else f"chains/{name}"
            if folder / name in {*chains, *states} or folder / name == home:
                continue
            if is_folder(folder / name):
                inputs.folders.append(shown)
            elif name.endswith(".jsonl"):
                inputs.strays.append(shown)
    inputs.chains += chains
    inputs.states += [(file, set(names[home])) for file in states]


def is_proof(file: Path) -> bool:
    """Say whether a file begins as a proof does."""
    with file.open("rb") as opened:
        return opened.read(len(PROOF_TITLE)) == PROOF_TITLE


def settle(file: Path, asked: str) -> Place:
    """Give layer and tenant of a chain's first line that can be read; else the layer that the file is named after."""
    layers = [asked] if asked else list(GRAMMARS)
    for line in lines_of(file):
        for layer in layers:
            if entry := read_line(line, layer):
                return layer, entry.tenant
    return asked or (LAYERS.get(file.stem, "") if file.suffix == ".jsonl" else ""), b"-"


def make_case(
    files: list[Path], place: Place, policies: list[Policy], options: argparse.Namespace, *, meant: bool
) -> Case:
    """Put what is judged together with its policy, that of its chain and tenant.

    Where none is, the only policy given is `meant` for it. Raises UsageError when that is for another layer than was
    asked.
    """
    case, keys = Case(files, *place, options), list[TrustedKey]()
    fitting = [policy for policy in policies if policy.place == place]
    if policy := next(iter(fitting or (policies if meant and len(policies) == 1 else [])), None):
        (case.layer, case.tenant), case.origin, keys = policy.place, policy.origin, policy.keys
        if not case.layer or (options.layer and options.layer != case.layer):
            asked = options.layer or "one this version knows"
            raise UsageError(f"the policy is for the chain {policy.chain}, not for {asked}")
    keys = [*keys, *options.trusted_key]
    case.keys = Ring(endless(keys) if case.layer == "L3" else keys)
    case.anchored, case.unfit = bool(keys), bool(policies) and policy is None
    return case


def chain_cases(files: list[Path], policies: list[Policy], options: argparse.Namespace) -> list[Case]:
    """Group files into chains and their copies, by layer and tenant, each with its policy."""
    named = len(files) == len(policies) == 1  # the chain is the policy's, whatever the file holds
    places = [("", b"-") if named else settle(file, options.layer) for file in files]
    known = next((place for place in places if place[0]), ("", b"-"))  # with which goes what cannot be read
    groups: dict[Place, list[Path]] = {}
    for file, place in zip(files, places, strict=True):
        groups.setdefault(place if place[0] else known, []).append(file)
    meant = len(groups) == 1
    return [make_case(copies, place, policies, options, meant=meant) for place, copies in groups.items()]


def state_case(file: Path, beside: set[str] | None, policies: list[Policy], options: argparse.Namespace) -> Case:
    """Put a state and its policy together."""
    _, entry = read_state(file)
    place, meant = ("L1", entry.tenant if entry else b"-"), bool(policies) and policies[0].chain == "state"
    plain = argparse.Namespace(**{**vars(options), "layer": ""})
    return replace(make_case([file], place, policies, plain, meant=meant), beside=beside)


def proof_case(file: Path, proof: Proof, policies: list[Policy], options: argparse.Namespace) -> Case:
    """Put a proof of one entry and its policy together."""
    _, chain, tenant, *_ = [*log_of(proof.note).split("/"), "", ""]
    layer = options.layer or LAYERS.get(chain, "")
    case = make_case([file], (layer, tenant.encode(errors="replace")), policies, options, meant=True)
    if not case.origin:
        entry = read_line(proof.line, layer)
        case.tenant = entry.tenant if entry else b"-"
    return case


def add_evidence(cases: list[Case], chains: list[Case], options: argparse.Namespace, run: Run) -> None:
    """Lead every chain's keys on by the key log, and give each chain its checkpoints; raises UsageError, or OSError."""
    notes = {file: check_file(file, "checkpoint").read_bytes() for file in options.checkpoint}
    anchored, logs, groups = [case for case in cases if case.anchored], set[str](), dict[Any, list[Case]]()
    if options.key_log and not anchored:
        raise UsageError("--key-log leads on from the keys of a policy or a trusted key; give one of these too")
    if options.key_log:
        file, logs = check_file(options.key_log), set(map(key_log_of, cases))
        for case in anchored:  # once for each policy
            groups.setdefault((key_log_of(case), case.tenant, *case.keys), []).append(case)
        for group in groups.values():
            follow_key_log(file, group, notes, run)
    for name, note in notes.items():
        if not chains:
            raise UsageError(f"{name}: a checkpoint is held against a chain; give the chain too")
        fit = [case for case in chains if case.origin == log_of(note)]
        for case in fit or ([] if log_of(note) in logs else chains[:1]):  # of the key log it has spoken already
            case.add_checkpoint(name, note)


def answer(options: argparse.Namespace, run: Run) -> Report:
    """Judge all that was given; raises UsageError, or OSError."""
    inputs, policies = read_inputs(options), read_policies(options)
    chains = chain_cases(inputs.chains, policies, options)
    if options.follow and (len(inputs.chains) != 1 or inputs.states or inputs.proofs):
        raise UsageError("--follow watches one chain file; give that alone")
    if options.min_entries and len(chains) != 1:
        raise UsageError("--min-entries counts the entries of one chain; give that alone")
    states = [state_case(file, beside, policies, options) for file, beside in inputs.states]
    read = {file: read_proof(file) for file in inputs.proofs}
    proofs = [(proof, proof_case(file, proof, policies, options)) for file, proof in read.items()]
    cases = [*chains, *states, *(case for _, case in proofs)]
    add_evidence(cases, chains, options, run)
    places = {(case.layer, case.tenant): case for case in chains}
    for case in states:
        for row in rows_of(read_state(case.files[0])[1]):
            if chain := places.get((LAYERS.get(row["chain"], ""), case.tenant)):
                chain.sizes.add(row["size"])
    judged = {place: judge_chain(case, run) for place, case in places.items()}
    reports = [report_chain(one) for one in judged.values()]
    reports += [report_state(case, judged) for case in states]
    reports += [report_proof(proof, case) for proof, case in proofs]
    strays, folders = listed(inputs.strays), listed(inputs.folders)
    idle = listed({policy.origin for policy in policies} - {case.origin for case in cases})
    notes = [
        (strays, f"These files are named after no chain and were not judged: {strays}."),
        (folders, f"These folders were not looked into: {folders}."),
        (idle, f"These policies are for nothing that was given: {idle}."),
    ]
    several = inputs.several or len(reports) > 1
    return summary(reports, [note for holds, note in notes if holds]) if several else reports[0]


def summary(reports: list[Report], notes: Words) -> Report:
    """Give the verdict over several reports, the worst of theirs, and notes on what lay beside what was judged."""
    name = min((report.data["verdict"] for report in reports), key=WORST_FIRST.index)
    code, each = EXITS.index(name), [{"input": report.name, **report.data} for report in reports]
    lines = [f"  {report.data['verdict']:12}exit {report.data['exit']}  {report.name}" for report in reports]
    text = ["OVERALL\n", *lines, f"\nOVERALL VERDICT   {name} (exit {code}), {len(reports)} reports\n"]
    text += [*(f"Note: {note}" for note in notes), ""] if notes else []
    pages = [report.text for report in reports]
    return Report("", {"verdict": name, "exit": code, "reports": each, "notes": notes}, "\n".join(pages + text))


def run(
    arguments: Sequence[str],
    now_ms: int,
    workers: int | None = None,
    tell: Callable[[str], object] = lambda _: None,
    show: Callable[[str], object] = lambda _: None,
) -> tuple[int, str, str]:
    """Do what one command line asks for; give the exit code and what to print where.

    `tell` hears of a growing file, `show` how far the reading is.
    """
    session = Run(now_ms, tell, show)
    try:
        options = read_options(arguments)
        options.workers = workers or options.workers
        report = answer(options, session)
    except (UsageError, OSError) as error:
        shown = (letter if letter.isprintable() or letter == "\n" else "?" for letter in str(error))
        return 2, "", f"verify: {''.join(shown)}\n"  # a folder may hold file names that a terminal would obey
    finally:
        if session.shown_at:
            show("\r" + " " * 40 + "\r")
    text = json.dumps(report.data, separators=(",", ":")) + "\n" if options.json else report.text
    slow = "verify: PyNaCl is not installed; pure Python checks signatures, slowly\n"
    return report.data["exit"], text, slow if crypto_sign_open is None and options.level == "full" else ""


def deliver(name: str, text: str) -> bool:
    """Write all of a text to a stream of `sys`; False when that cannot be."""
    try:
        getattr(sys, name).write(text)
        getattr(sys, name).flush()
    except (AttributeError, OSError, ValueError):  # closed, full, or nobody reads
        setattr(sys, name, None)  # else Python tries once more when it ends, and exits with a code of its own
        return False
    return True


def main() -> int:
    """Run the command line; the exit code is the verdict's, or 2 when the report could not be delivered."""

    def tell(words: str) -> None:
        deliver("stderr", words)

    try:
        now_ms = time.time_ns() // 1_000_000
        watched = tell if sys.stderr and sys.stderr.isatty() else lambda _: None
        code, text, message = run(sys.argv[1:], now_ms, None, tell, watched)
    except Exception:  # noqa: BLE001 - whatever it is, it must not exit with 1, which says TAMPERED
        code, text, message = 2, "", traceback.format_exc()
    tell((banner() if text else "") + message)
    if not deliver("stdout", text):
        tell("verify: the report could not be written\n")
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
