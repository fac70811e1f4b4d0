"""Faults in checkpoints, policies, copies, key logs, states and proofs."""

from __future__ import annotations

from tests.verifier.faults.fault import Fault, fault

EVIDENCE: list[Fault] = [
    fault(
        "a checkpoint of any chain",
        "outside/checkpoint-for-another-chain",
        ("if not match or log != case.origin.encode():", "if not match:"),
        ("expect(text && log === origin,", "expect(text,"),
    ),
    fault(
        "an unsigned checkpoint",
        "outside/checkpoint-by-a-stranger",
        ("if not holds or not all(holds):", "if not all(holds):"),
        ("expect(holds.length && holds.every(Boolean),", "expect(holds.every(Boolean),"),
    ),
    fault(
        "a wrong signature beside a right one",
        "outside/checkpoint-with-a-right-and-a-wrong-signature",
        ("if not holds or not all(holds):", "if not any(holds):"),
        ("expect(holds.length && holds.every(Boolean),", "expect(holds.some(Boolean),"),
    ),
    fault(
        "a checkpoint by the entry key",
        "outside/checkpoint-by-the-entry-key",
        ('for k in case.keys if k.use == "checkpoint" and k.covers(max(int(size), 1)))', "for k in case.keys)"),
        ("keys.filter((key) => maySign(key, 'checkpoint', Math.max(Number(size), 1))).flatMap", "keys.flatMap"),
    ),
    fault(
        "leaves hashed as nodes",
        "folders/whole",
        ('leaves.append(sha256(b"\\x00" + line))', 'leaves.append(sha256(b"\\x01" + line))'),
        (
            "grow(found.tree, sha256(`\\x00${line}`, 'latin1'), 0, number)",
            "grow(found.tree, sha256(`\\x01${line}`, 'latin1'), 0, number)",
        ),
    ),
    fault(
        "a chain may be shorter than its checkpoint",
        "outside/torn-below-its-checkpoint",
        ('(newest > chain.lines, Verdict("TRUNCATED", "checkpoint")),', ""),
        ("[newest > chain.lines, verdict('TRUNCATED', 'checkpoint')],", ""),
    ),
    fault(
        "a chain may be shorter than asked",
        "outside/cut-below-min-entries",
        ('(least > chain.lines, Verdict("TRUNCATED", "min-entries")),', ""),
        ("[options.minEntries > chain.lines, verdict('TRUNCATED', 'min-entries')],", ""),
    ),
    fault(
        "roots are not compared",
        "outside/last-entry-rewritten",
        ('(not all(met for _, met in meets(case, copies)), Verdict("FORKED", "checkpoint")),', ""),
        ("[!checkpoints.every((signed) => meets(copies, signed)), verdict('FORKED', 'checkpoint')],", ""),
    ),
    fault(
        "copies are not compared",
        "forks/at-3",
        ('(fork is not None, Verdict("FORKED", "copies", fork)),', ""),
        ("[fork !== null, verdict('FORKED', 'copies', fork)],", ""),
    ),
    fault(
        "a torn tail is passed over",
        "outside/half-a-line",
        ('*((True, Verdict("TORN_TAIL"', '*((False, Verdict("TORN_TAIL"'),
        ("[torn, verdict('TORN_TAIL'", "[false, verdict('TORN_TAIL'"),
    ),
    fault(
        "no age is too old",
        "outside/stale",
        ("(not newest or age_ms > max_age)", "not newest"),
        ("nowMs - (chain.met[newest]?.ms ?? 0) <= options.maxAgeMs", "true"),
    ),
    fault(
        "no checkpoint is fresh enough",
        "outside/stale-without-a-checkpoint",
        ("(not newest or age_ms > max_age)", "(newest and age_ms > max_age)"),
        ("const fresh = newest && nowMs", "const fresh = !newest || nowMs"),
    ),
    fault(
        "a policy may say a member twice",
        "trust/policy-that-says-a-member-twice",
        ("dict(m) if len(dict(m)) == len(m) else 0", "dict(m)"),
        ("if (once && exact) policy", "if (exact) policy"),
    ),
    fault(
        "a policy may ask for witnesses in vain",
        "trust/policy-that-asks-for-witnesses",
        ('if match is None or match[3] != "0":', "if match is None:"),
        ("expect(quorum === '0',", "expect(quorum,"),
    ),
    fault(
        "the milder verdict of several",
        "several/malformed-before-torn",
        ("(1, 5, 4, 8, 9, 6, 7, 3, 0)", "(1, 5, 4, 6, 7, 3, 8, 9, 0)"),
        None,
    ),
]

KEY_LOGS: list[Fault] = [
    fault(
        "possession is not checked",
        "keylogs/alone-new-signature-by-a-stranger",
        (' and (layer != "L3" or keys_are_held(body))', ""),
        ("return named.every(([by, proof]) => !proof || paeHolds(kind, said, by, proof));", "return true;"),
    ),
    fault(
        "a signature too few",
        "keylogs/alone-signed-by-the-old-key-only",
        ('return named and signatures == asked.get(event["event"], [])', "return named"),
        (
            "return named && (byPrevious !== undefined) === rotated && (byNew !== undefined) === !revoked;",
            "return named;",
        ),
    ),
    fault(
        "a previous key where none belongs",
        "keylogs/alone-created-with-a-previous-key",
        ("return named and signatures ==", "return signatures =="),
        ("return named && (byPrevious", "return (byPrevious"),
    ),
    fault(
        "a key may follow itself",
        "keylogs/alone-previous-key-is-the-new-one",
        (' and event["previousKey"] != event["publicKey"]', ""),
        ("previousKey !== null && previousKey !== publicKey :", "previousKey !== null :"),
    ),
    fault(
        "a rotation by a key nobody trusts",
        "keylogs/from-an-untrusted-key",
        ("for known in ring.of(old, use) if known.covers(at)]", "for known in ring if known.use == use]"),
        (
            "ring.filter((key) => key.publicKey === previousKey && maySign(key, use, at));",
            "ring.filter((key) => maySign(key, use, at));",
        ),
    ),
    fault(
        "the old key goes on",
        "keylogs/rotation-not-yet-in-use",
        ("ring.end(old or new, use, at)", "old or ring.end(new, use, at)"),
        ("const ends = (key) => key.use === use &&", "const ends = (key) => !previousKey && key.use === use &&"),
    ),
    fault(
        "a revoked key goes on",
        "keylogs/revoked-from-4",
        ("ring.end(old or new, use, at)", "old and ring.end(old, use, at)"),
        ("const ends = (key) => key.use === use &&", "const ends = (key) => previousKey && key.use === use &&"),
    ),
    fault(
        "a later event widens a range",
        "keylogs/later-revocation-widens-nothing",
        ("at - 1 if known.to_id is None else min(known.to_id, at - 1)", "at - 1"),
        ("Math.min(key.toId ?? Infinity, at - 1)", "at - 1"),
    ),
    fault(
        "the new key counts from the beginning",
        "keylogs/new-key-too-early",
        ("TrustedKey(new, use, at, None", "TrustedKey(new, use, 1, None"),
        ("{ publicKey, use, fromId: at, toId }", "{ publicKey, use, fromId: 1, toId }"),
    ),
    fault(
        "the new key outlives the old one",
        "keylogs/retired-key-rotates-to-a-stranger",
        ("None if None in ends else max(end for end in ends if end)", "None"),
        ("held.some((key) => key.toId === null) ? null : Math.max(...held.map((key) => key.toId));", "null;"),
    ),
    fault(
        "the key log is judged at the chain's level",
        "keylogs/forged-log-at-level-chain",
        ('plain = {"level": "full", ', "plain = {"),
        ("{ ...options, level: 'full', ", "{ ...options, "),
    ),
    fault(
        "the key log's checkpoint is passed over",
        "keylogs/log-cut-below-its-checkpoint",
        ("if origin and log_of(note) == origin}", "if False}"),
        ("origin && logOf(note) === origin", "false"),
    ),
    fault(
        "an empty key log is evidence",
        "keylogs/empty",
        (
            'raise UsageError(f"{file}: this key log is no evidence, it holds no events")',
            "return",
        ),
        (
            "expect(found.lines, `${file}: this key log is no evidence, it holds no events`);",
            "if (!found.lines) return;",
        ),
    ),
    fault(
        "an event holds where another chain has it",
        "keylogs/revoked-from-7",
        ('for row in event["chains"] if row["chain"] == chain), 1)', 'for row in event["chains"]), 1)'),
        ("chains.find((row) => row.chain === chain)?.atId", "chains[0]?.atId"),
    ),
    fault(
        "a chain that is not listed is left out",
        "keylogs/revoked-everywhere",
        ('if row["chain"] == chain), 1)', 'if row["chain"] == chain), 999)'),
        ("?.atId ?? 1;", "?.atId ?? 999;"),
    ),
    fault(
        "a torn key log is evidence",
        "keylogs/torn",
        ('if verdict.name != "PASS":', 'if verdict.name == "TAMPERED":'),
        ("expect(name === 'PASS', `${file}: this key log", "expect(name !== 'TAMPERED', `${file}: this key log"),
    ),
    fault(
        "a chain's ranges rule its key log",
        "keylogs/range-of-the-chain-is-not-the-logs",
        ('if key.use == "entry" else key for key in keys]', "if False else key for key in keys]"),
        ("ring.map((key) => (key.use === 'entry' ?", "ring.map((key) => (false ?"),
    ),
    fault(
        "the old key goes on in the log itself",
        "keylogs/old-key-goes-on-in-the-log",
        ('ring_after(case.keys, event, "keys")', "pass"),
        ("task.keys = ringAfter(task.keys, event, 'keys');", ""),
    ),
]

PARTS: list[Fault] = [
    fault(
        "a chain shorter than its state",
        "states/chain-is-shorter",
        ('("shorter" in words or ', "("),
        ("[having('shorter').length || having", "[having"),
    ),
    fault(
        "a chain of the state that is not in its folder",
        "folders/one-chain-missing",
        ('"shorter" in words or "not in the folder" in words', '"shorter" in words'),
        ("[having('shorter').length || having('not in the folder').length,", "[having('shorter').length,"),
    ),
    fault(
        "a state without its line break",
        "states/alone-without-its-line-break",
        ('(not content.endswith(b"\\n"), Verdict("TORN_TAIL", "framing", None, 0)),', ""),
        ("[!whole, verdict('TORN_TAIL', 'framing', null, 0)],", ""),
    ),
    fault(
        "a leaf beyond all ids",
        "proofs/index-beyond-the-largest",
        (" or int(match[2]) >= MAX_INTEGER", ""),
        (" && Number(index) < Number(TOP)", ""),
    ),
    fault(
        "any number of signatures",
        "outside/checkpoint-with-17-signatures-by-one-key",
        ("if len(blobs) > MAX_SIGNATURES:", "if False:"),
        ("expect(blobs.length <= MAX_SIGNATURES,", "expect(true,"),
    ),
    fault(
        "a chain other than its state",
        "states/chain-is-another",
        ('("another root or head" in words, Verdict("FORKED", "state")),', ""),
        ("[having('another root or head').length, verdict('FORKED', 'state')],", ""),
    ),
    fault(
        "roots of a state are not compared",
        "states/root-of-another-chain",
        ('row["rootHash"] in (mark.root.hex(), None) and', ""),
        ("[null, rootOf(tree)].includes(rootHash) && head", "head"),
    ),
    fault(
        "heads of a state are not compared",
        "states/head-of-another-chain",
        (' and row["headHash"].encode() == mark.head', ""),
        (".includes(rootHash) && head === headHash ?", ".includes(rootHash) ?"),
    ),
    fault(
        "a path may lead anywhere",
        "proofs/line-signed-and-never-logged",
        ("return index == last == 0 and node == root", "return index == last == 0"),
        ("return last === 0 && Buffer.from(hash, 'latin1').toString('hex') === root;", "return last === 0;"),
    ),
    fault(
        "a path may end early",
        "proofs/path-that-ends-early",
        ("return index == last == 0 and node == root", "return node == root"),
        ("return last === 0 && Buffer.from(hash", "return Buffer.from(hash"),
    ),
    fault(
        "an entry at the place of another",
        "proofs/entry-at-the-place-of-another",
        ("leads = leads and entry is not None and entry.id == number", "leads = leads and entry is not None"),
        ("const inclusion = reached && entry?.id === number;", "const inclusion = reached;"),
    ),
    fault(
        "the first link of a proof is not checked",
        "proofs/first-entry-of-another-ledger",
        ("origin_of(case.origin) if first else None", "None"),
        ("first ? genesis(task.origin) : null", "null"),
    ),
    fault(
        "a proof's checkpoint need not be signed",
        "proofs/checkpoint-by-a-stranger",
        ("read_note(file, proof.note, case) if signed else head_of(proof.note)", "head_of(proof.note)"),
        ("signed ? readNote(task.files[0], note, task) : headOf(note)", "headOf(note)"),
    ),
    fault(
        "extra with loose bits",
        "proofs/extra-with-loose-bits",
        ("exact = match is not None and binascii.b2a_base64(line, newline=False) == match[1]", "exact = True"),
        ("const exact = bytesOf(extra).toString('base64') === extra &&", "const exact ="),
    ),
]
