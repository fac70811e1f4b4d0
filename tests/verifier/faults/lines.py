"""Faults in how lines are read, linked, trusted and signed."""

from __future__ import annotations

from tests.verifier.faults.fault import Fault, fault

LINKS: list[Fault] = [
    fault(
        "ids may jump",
        "lines/id-skipped",
        ("not before or [*rows.id] == [*range(", "not before or [*rows.id] >= [*range("),
        ("entry.id === before.id + 1],", "entry.id > before.id],"),
    ),
    fault(
        "a repeated id is no fork",
        "lines/inserted",
        ('"FORKED" if before and entry.id == before.id else "TAMPERED"', '"TAMPERED"'),
        ("entry.id === before?.id ? 'FORKED' : 'TAMPERED'", "'TAMPERED'"),
    ),
    fault(
        "links are not checked",
        "lines/edited-and-signed-by-the-true-key",
        ('rows.link[1:] == rows.hash[:-1] and (not before or before.hash in (rows.link[0], b""))', "True"),
        ("!before?.hash || entry.link === before.hash],", "true],"),
    ),
    fault(
        "the first link is not checked",
        "replay/another-ledger",
        ('b"", own_hash, b""', 'b"", b"", b""'),
        ("number === 1 ? genesis(task.origin)", "number === 1 ? genesis('')"),
    ),
    fault(
        "tenants are not checked",
        "replay/tenant-in-one-entry",
        ("set(rows.tenant) == {case.tenant}", "True"),
        ("entry.tenant === task.tenant],", "true],"),
    ),
    fault(
        "hashes are not checked",
        "lines/edited",
        ("[hex_of(body) for body in rows.body] == [*rows.hash]", "True"),
        ("entry.hash === sha256(entry.body)],", "true],"),
    ),
    fault(
        "time may go back",
        "clocks/steps-back-to-1970",
        ("[*rows.ms] == sorted(rows.ms) and (not before or rows.ms[0] >= before.ms)", "True"),
        ("entry.ms >= before.ms],", "true],"),
    ),
    fault(
        "time may go back a little",
        "clocks/steps-back-by-a-millisecond",
        (
            "[*rows.ms] == sorted(rows.ms) and (not before or rows.ms[0] >= before.ms)",
            "not before or rows.ms[0] + 1 >= before.ms",
        ),
        ("entry.ms >= before.ms],", "entry.ms + 1 >= before.ms],"),
    ),
    fault(
        "any key",
        "trust/all-by-a-stranger",
        ('for known in case.keys.of(key, "entry")', "for known in case.keys"),
        ("trusted.publicKey === key && maySign", "maySign"),
    ),
    fault(
        "a key has no first id",
        "trust/range-begins",
        ("self.from_id <= number and", ""),
        ("key.use === use && key.fromId <= id &&", "key.use === use &&"),
    ),
    fault(
        "a key has no last id",
        "trust/range-ends",
        ("(self.to_id is None or number <= self.to_id)", "True"),
        ("(key.toId === null || id <= key.toId)", "true"),
    ),
    fault(
        "a key for any use",
        "trust/signed-by-the-checkpoint-key",
        ('for known in case.keys.of(key, "entry")', "for known in case.keys if known.key == key"),
        ("key.use === use && key.fromId", "key.fromId"),
    ),
    fault(
        "nobody outside need be trusted",
        "trust/true-chain-without-a-policy",
        (
            '(not case.anchored, Verdict("UNANCHORED")),\n        (newest',
            '(False, Verdict("UNANCHORED")),\n        (newest',
        ),
        ("[!anchored, verdict('UNANCHORED')],", ""),
    ),
    fault(
        "signatures are not checked",
        "lines/edited-and-rehashed",
        (
            'case.options.level == "chain" or all(is_signed(row, case.layer) for row in zip(*rows[6:], strict=True))',
            "True",
        ),
        ("task.options.level === 'chain' || isSigned(entry, task.layer)", "true"),
    ),
    fault(
        "the signature is not of the signing time",
        "clocks/signing-time-of-its-own",
        ("(layer.encode(), form, signed)", '(layer.encode(), form, b"2026-01-01T00:00:00.000Z")'),
        ("form=${form};signedAt=${signed}`", "form=${form};signedAt=2026-01-01T00:00:00.000Z`"),
    ),
    fault(
        "the signature is not of the layer",
        "layers/turns",
        ("(layer.encode(), form, signed)", '(b"L12", form, signed)'),
        ("receipt+json;layer=${layer};", "receipt+json;layer=L12;"),
    ),
    fault(
        "the same act may be recorded twice",
        "twice/calls",
        (
            "name in known and not late:\n            return number",
            "name in known and not late:\n            return None",
        ),
        ("known.has(name) && !late) return number;", "known.has(name) && !late) return null;"),
    ),
    fault(
        "a spec may be registered twice",
        "twice/spec-registered-twice",
        ('    "L2": rb\'"specHash":"(\\w+)"()\',\n', ""),
        ('  L2: /"specHash":"(\\w+)"()/, L4:', "  L4:"),
    ),
    fault(
        "a spec may have any name",
        "layers/specs-wrong-word",
        ("specId:KEBAB specHash:HASH\n", "specId:TEXT specHash:HASH\n"),
        ("specId:KEBAB specHash:HASH\n", "specId:TEXT specHash:HASH\n"),
    ),
    fault(
        "a turn may be reported late again and again",
        "twice/turn-reported-late-twice",
        ('late = layer == "L10" and known.get(name) == b"interrupted" != state', 'late = layer == "L10"'),
        ("layer === 'L10' && known.get(name) === 'interrupted' && state !== 'interrupted'", "layer === 'L10'"),
    ),
]

SPELLING: list[Fault] = [
    fault(
        "lines of any length",
        "alone:size/65537-bytes",
        ("if grammar and len(line) <= MAX_LINE_BYTES else", "if grammar else"),
        ("grammar && line.length <= MAX_LINE_BYTES ?", "grammar ?"),
    ),
    fault(
        "bytes that are no text",
        "alone:string/overlong-slash",
        ("match is None or not is_utf8(line) or", "match is None or"),
        ("!match || !isUtf8(line) ||", "!match ||"),
    ),
    fault(
        "strings of any length",
        "alone:text/too-long",
        ("not is_utf8(line) or has_long_string(line):\n        return None", "not is_utf8(line):\n        return None"),
        ("!isUtf8(line) || hasLongString(line)) return", "!isUtf8(line)) return"),
    ),
    fault(
        "strings are measured as they are spelled",
        "alone:text/longest-in-escapes",
        ('len(ESCAPES.sub(b"x", text)) > limit', "len(text) > limit"),
        ("text.replace(new RegExp(ESCAPE, 'g'), 'x').length > limit", "true"),
    ),
    fault(
        "control characters in a string",
        "alone:string/raw-tab",
        (
            'STRING = rf\'"[^"\\\\\\x00-\\x1f]*+(?:{ESCAPE}[^"\\\\\\x00-\\x1f]*+)*+"\'',
            'STRING = rf\'"[^"\\\\]*+(?:{ESCAPE}[^"\\\\]*+)*+"\'',
        ),
        (
            'const STRING = raw`"[^"\\\\\\x00-\\x1f]*(?:${ESCAPE}[^"\\\\\\x00-\\x1f]*)*"`;',
            'const STRING = raw`"[^"\\\\]*(?:${ESCAPE}[^"\\\\]*)*"`;',
        ),
    ),
    fault(
        "escapes in capitals",
        "alone:string/upper-case-escape",
        ("u00(?:0[0-7bef]|1[0-9a-f])", "u00(?:0[0-7bef]|1[0-9a-fA-F])"),
        ("u00(?:0[0-7bef]|1[0-9a-f])", "u00(?:0[0-7bef]|1[0-9a-fA-F])"),
    ),
    fault(
        "escapes nobody needs",
        "alone:string/escaped-slash",
        ('["\\\\bfnrt]|u00', '["\\\\/bfnrt]|u00'),
        ('["\\\\bfnrt]|u00', '["\\\\/bfnrt]|u00'),
    ),
    fault(
        "counts below zero",
        "alone:number/-1",
        ('"COUNT": COUNT,', '"COUNT": "-?" + COUNT,'),
        ("  COUNT, ORDINAL: POSITIVE,", "  COUNT: `-?${COUNT}`, ORDINAL: POSITIVE,"),
    ),
    fault(
        "integers beyond 2^53",
        "alone:number/9007199254740992",
        ('POSITIVE = f"(?:[1-9][0-9]{{0,14}}(?![0-9])|', 'POSITIVE = f"(?:[1-9][0-9]{{0,15}}(?![0-9])|'),
        ("const POSITIVE = `(?:[1-9][0-9]{0,14}(?![0-9])|", "const POSITIVE = `(?:[1-9][0-9]{0,15}(?![0-9])|"),
    ),
    fault(
        "one level deeper",
        "alone:nesting/32-inside-the-line",
        ("for _ in range(MAX_DEPTH):", "for _ in range(MAX_DEPTH + 1):"),
        ("depth < MAX_DEPTH &&", "depth <= MAX_DEPTH &&"),
    ),
    fault(
        "base64 with loose bits",
        "v2:att-b64-noncanonical",
        ('{85}[AQgw]=="', '{85}[A-Za-z0-9+/]=="'),
        ("{85}[AQgw]=='", "{85}[A-Za-z0-9+/]=='"),
    ),
    fault(
        "the two times may differ",
        "v2:schema-iso-mismatch",
        ("if ms_of(iso) != at_ms or (signed", "if ms_of(iso) is None or (signed"),
        ("if (msOf(iso) !== Number(ms) ||", "if (Number.isNaN(msOf(iso)) ||"),
    ),
    fault(
        "a signing time no calendar has",
        "alone:attestation/signed-on-30-february",
        (" or (signed != iso and ms_of(signed) is None):", ":"),
        (" || (signed !== iso && Number.isNaN(msOf(signed)))) return", ") return"),
    ),
    fault(
        "an unknown algorithm is only malformed",
        "lines/algorithm-from-the-future",
        ('return "UNSUPPORTED", "algorithm"', 'return "MALFORMED", "schema"'),
        ("return ['UNSUPPORTED', 'algorithm']", "return ['MALFORMED', 'schema']"),
    ),
    fault(
        "an unknown form is only malformed",
        "lines/form-from-the-future",
        ('else ("UNSUPPORTED", "form")', 'else ("MALFORMED", "schema")'),
        ("return ['UNSUPPORTED', 'form']", "return ['MALFORMED', 'schema']"),
    ),
    fault(
        "a wrong word of a table",
        "layers/calls-wrong-word",
        ("state:admitted|completed|", "state:guessed|admitted|completed|"),
        ("state:admitted|completed|", "state:guessed|admitted|completed|"),
    ),
]
