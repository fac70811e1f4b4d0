"""Faults in the curve's byte checks, and in judging many lines at once."""

from __future__ import annotations

from tests.verifier.faults.fault import Fault, fault

CURVE: list[Fault] = [
    fault(
        "y may be the prime or more",
        "curve:low-order-key/" + "ee" + "ff" * 30 + "7f",
        ("return y < P and y not in LOW_ORDER_Y", "return y not in LOW_ORDER_Y"),
        ("return y < P && !LOW", "return !LOW"),
    ),
    fault(
        "points of low order are let through",
        "curve:low-order-key/01" + "00" * 31,
        ("return y < P and y not in LOW_ORDER_Y", "return y < P"),
        ("return y < P && !LOW_ORDER_Y.includes(y);", "return y < P;"),
    ),
    fault(
        "points of order eight are let through",
        "curve:low-order-key/26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        ("LOW_ORDER_Y = {0, 1, P - 1, EIGHTH, P - EIGHTH}", "LOW_ORDER_Y = {0, 1, P - 1}"),
        ("LOW_ORDER_Y = [0n, 1n, P - 1n, EIGHTH, P - EIGHTH]", "LOW_ORDER_Y = [0n, 1n, P - 1n]"),
    ),
    fault(
        "R is not looked at",
        "curve:low-order-r/01" + "00" * 31,
        ("if not is_point(key) or not is_point(signature[:32]):", "if not is_point(key):"),
        ("if (!isPoint(key) || !isPoint(signature.subarray(0, 32)))", "if (!isPoint(key))"),
    ),
    fault(
        "S may be the order or more",
        "curve:scalar/s-plus-1-l",
        (' or int.from_bytes(signature[32:], "little") >= L:', ":"),
        None,
    ),
    fault(
        "signatures of any length", "curve:length/signature-of-65", (" or len(signature) != SIGNATURE_BYTES", ""), None
    ),
    fault(
        "the sign of A is not looked at",
        "curve:honest/1-bytes",
        ("x = x if x & 1 == sign else P - x", "x = P - x if x & 1 == sign else x"),
        None,
    ),
    fault(
        "the equation times eight",
        "curve:mixed-order-r/1",
        (
            'return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]',
            'return by_eight(total) == by_eight(decode_point(int.from_bytes(signature[:32], "little")))',
        ),
        None,
    ),
]

AT_ONCE: list[Fault] = [
    fault("at once: lines between the rows", "v2:blank-line", ("sum(sizes) + len(sizes) == len(data)", "True"), None),
    fault(
        "at once: long strings", "lines/long-string-in-the-middle", ("and max(sizes) <= MAX_STRING_BYTES\n", ""), None
    ),
    fault(
        "at once: the two times", "v2:schema-iso-mismatch", ("and list(map(ms_of, rows.iso)) == rows.ms\n", ""), None
    ),
    fault(
        "at once: no calendar",
        "lines/signing-time-of-no-calendar",
        (
            "and (rows.signed == rows.iso or None not in map(ms_of_minute, {signed[:16] for signed in rows.signed}))\n",
            "",
        ),
        None,
    ),
    fault(
        "at once: ids",
        "lines/id-skipped",
        ("[*rows.id] == [*range(before.id + 1, before.id + len(rows.id) + 1)]", "rows.id[0] == before.id + 1"),
        None,
    ),
    fault(
        "at once: links",
        "lines/edited-and-signed-by-the-true-key",
        ("rows.link[1:] == rows.hash[:-1] and (not before", "(not before"),
        None,
    ),
    fault(
        "at once: the first link",
        "replay/another-ledger",
        (' and (not before or before.hash in (rows.link[0], b""))', ""),
        None,
    ),
    fault(
        "at once: leaves hashed as nodes",
        "outside/whole",
        ('leaves = [hashlib.sha256(b"\\x00" + line)', 'leaves = [hashlib.sha256(b"\\x01" + line)'),
        None,
    ),
    fault(
        "at once: tenants",
        "replay/tenant-in-one-entry",
        ("set(rows.tenant) == {case.tenant}", "rows.tenant[0] == case.tenant"),
        None,
    ),
    fault(
        "at once: hashes",
        "lines/last-hash-edited",
        ("for body in rows.body] == [*rows.hash]", "for body in rows.body][0] == rows.hash[0]"),
        None,
    ),
    fault(
        "at once: keys",
        "trust/all-by-a-stranger",
        ("all(is_trusted(case, key, rows.id[0], rows.id[-1]) for key in set(rows.key))", "True"),
        None,
    ),
    fault(
        "at once: key ranges",
        "trust/range-ends",
        ("is_trusted(case, key, rows.id[0], rows.id[-1])", "is_trusted(case, key, rows.id[0])"),
        None,
    ),
    fault(
        "at once: signatures",
        "lines/edited-and-rehashed",
        ("for row in zip(*rows[6:], strict=True))", "for row in list(zip(*rows[6:], strict=True))[:1])"),
        None,
    ),
    fault(
        "at once: text", "lines/no-text-in-the-middle", ("if pattern and is_utf8(data) else", "if pattern else"), None
    ),
    fault(
        "at once: times",
        "clocks/steps-back-to-1970",
        ("[*rows.ms] == sorted(rows.ms) and (not before", "(not before"),
        None,
    ),
]
