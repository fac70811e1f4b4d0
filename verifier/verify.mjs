#!/usr/bin/env node
/*
verify.mjs: verify receipt chains offline, with one file and no trust in whoever wrote them.

  node verify.mjs INPUT [INPUT...] [options]     a chain, a tlog-proof, a state.json, or the folder of a ledger;
                                                 files of one chain are copies of it, and where they differ is a fork
  --policy FILE         origin and trusted keys, from outside the chain, or a folder of policies; may be repeated;
                        without a trusted key nothing passes
  --trusted-key BASE64  an entry key to trust; may be repeated
  --key-log FILE        the chain keys, which leads on from the keys you trust
  --checkpoint FILE     a signed tree head the chain must meet; may be repeated
  --min-entries N       TRUNCATED below so many
  --max-age AGE         STALE when no checkpoint is as new as 90m, 24h, 7d
  --level chain|full    chain leaves the signatures out; full is the default
  --layer L1...L12      when no policy tells it
  --unique              also look for ids that repeat; reads the chain once more
  --follow              go on while the chain grows, until a signal
  --stop-early          stop at the first bad line
  --workers N           threads, 1 to 64; else one a core when a chain is big
  --json                print one JSON object
  --version, --help

Needs Node 18.3 and nothing else. verify.py is the same verifier for Python, written separately from the same norm,
docs/receipt-format.md, whose rules are cited as RF-n. Both print the same report, byte for byte, or one is wrong.
*/
// From top to bottom: the grammar of a line, why a line is not of it, Ed25519, the seven checks of an entry, blocks of
// lines judged in parallel, the evidence from outside, the verdict, how reports are laid out; then what can be judged:
// a chain, a state, a proof of one entry, a chain that grows, ids that must not repeat; the command line.
// Bytes travel as latin1 strings, one character a byte, so that patterns, slices and offsets mean bytes.
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const [VERSION, SELF] = ['0.2.0', fileURLToPath(import.meta.url)];
// A verdict's place is its exit code (RF-22); 2 is a usage or I/O error, told on stderr without a report.
const EXITS = 'PASS TAMPERED - UNANCHORED TRUNCATED FORKED TORN_TAIL STALE MALFORMED UNSUPPORTED'.split(' ');
const [MAX_LINE_BYTES, MAX_STRING_BYTES, MAX_DEPTH] = [65_536, 4_096, 32];
const READ_BYTES = 1 << 17;
const BUFFER_BYTES = MAX_LINE_BYTES + 1 + READ_BYTES; // an unfinished line, and a read after it
const PARALLEL_BYTES = 4 << 20; // a smaller file is judged before workers would have started
const MAX_KEYS_LISTED = 64; // a hostile chain may carry a key an entry; memory stays flat

// --- Grammar (RF-1 to RF-9, RF-11): all members in order; only the newest form has what stands in <>; as in verify.py.

const SCHEMAS = `
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
`;

const { raw } = String;
const ESCAPE = raw`\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))`; // RFC 8785 §3.2.2.2
const STRING = raw`"[^"\\\x00-\x1f]*(?:${ESCAPE}[^"\\\x00-\x1f]*)*"`;
const TOP = String(Number.MAX_SAFE_INTEGER);
const BELOW_TOP = [...TOP].map((digit, i) => `${TOP.slice(0, i)}[${i ? 0 : 1}-${digit - 1}][0-9]{${15 - i}}`);
const POSITIVE = `(?:[1-9][0-9]{0,14}(?![0-9])|${BELOW_TOP.filter((_, i) => TOP[i] !== '0').join('|')}|${TOP})`;
const COUNT = `(?:0|${POSITIVE})`;
const INSTANT = '(?:19[7-9][0-9]|[2-9][0-9]{3})-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9][.][0-9]{3}Z';
const [BASE64_32, BASE64_64] = ['[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=', '[A-Za-z0-9+/]{85}[AQgw]==']; // canonical
const TERMINALS = { // what stands in () a check needs
  ID: `(${POSITIVE})`, TIME: `(${COUNT})`, ISO: `"(${INSTANT})"`, LINK: '"([0-9a-f]{64})"', HASH: '"[0-9a-f]{64}"',
  TEXT: STRING, KEBAB: '"(?=[^"]{1,128}")[a-z0-9]+(?:-[a-z0-9]+)*"', TENANT: '"((?!-")[a-z0-9.-]{1,192})"',
  COUNT, ORDINAL: POSITIVE, BOOL: '(?:true|false)', null: 'null', CHAIN: '"[a-z]{1,32}"',
  KEY: `"${BASE64_32}"`, SIGNATURE: `"${BASE64_64}"`,
  SPAN: raw`\{"n":(?:0,"firstId":0,"lastId":0|${POSITIVE},"firstId":${COUNT},"lastId":${COUNT})\}`,
};
const ATTESTATION =
  raw`,"hash":"([0-9a-f]{64})","attestation":\{"algorithm":"ed25519","publicKey":"(${BASE64_32})",` +
  raw`"signature":"(${BASE64_64})","signedAtIso":"(${INSTANT})","canonicalForm":"(FORM)"\}\}`;
const TOKEN = / (\w+)\?:([\w|-]+)|(\w+):|\[([^\]]*)\]|([\w|-]+)|([{}])| /g;

/** Turns a row of the table into the pattern of its canonical JSON. */
function compileFields(row) {
  const types = (words) => `(?:${words.split('|').map((word) => TERMINALS[word] ?? `"${word}"`).join('|')})`;
  const pattern = row.replace(TOKEN, (_, optional, optionalTypes, name, item, words, brace) => {
    if (optional) return `(?:,"${optional}":${types(optionalTypes)})?`;
    if (item) return raw`\[(?:${compileFields(item)}(?:,${compileFields(item)})*)?\]`;
    return name ? `"${name}":` : words ? types(words) : brace ? `\\${brace}` : ',';
  });
  return pattern.replaceAll('ULID', '[0-9A-HJKMNP-TV-Z]{26}');
}

const [GRAMMARS, LAYERS] = [{}, { __proto__: null }]; // patterns by layer and form; layers by chain
for (const [title, ...rows] of SCHEMAS.trim().split(/\n(?=L)/).map((block) => block.split(/\n */))) {
  const [layer, chain, ...forms] = title.split(' ');
  LAYERS[chain] = layer;
  GRAMMARS[layer] = Object.fromEntries(forms.map((form) => {
    const fields = compileFields(rows.join(' ').replace(form === forms.at(-1) ? /[<>]/g : /<[^>]*>/g, ''));
    return [form, new RegExp(raw`^\{${fields}${ATTESTATION.replace('FORM', form)}$`)];
  }));
}

/** The same function, which makes what was asked last only once. */
function remember(make) {
  const made = new Map();
  return (name) => {
    if (made.size > MAX_KEYS_LISTED) made.clear();
    return made.get(name) ?? made.set(name, make(name)).get(name);
  };
}

/** The milliseconds since 1970 of a minute or an instant; NaN for the 30th of February and for 25 o'clock (RF-9). */
const msOfMinute = remember((minute) => {
  const ms = Date.parse(`${minute}:00.000Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(minute) ? ms : NaN;
});
const msOf = (instant) => msOfMinute(instant.slice(0, 16)) + Number(instant.slice(17, 19) + instant.slice(20, 23));

/** Reads one line without its line break; null when, judged alone, it breaks RF-1 to RF-11. */
export function readLine(line, layer) {
  const grammar = GRAMMARS[layer]?.[line.slice(-5, -3)]; // a line ends in "canonicalForm":"v2"}}
  const match = grammar && line.length <= MAX_LINE_BYTES ? grammar.exec(line) : null;
  if (!match || !isUtf8(line) || hasLongString(line)) return null;
  const [, id, ms, iso, link, tenant = '-', hash, key, signature, signed, form] = match;
  if (msOf(iso) !== Number(ms) || (signed !== iso && Number.isNaN(msOf(signed)))) return null;
  const body = `${line.slice(0, line.lastIndexOf(',"hash":"'))}}`; // RF-7
  if (layer === 'L3' && !isKeyEvent(JSON.parse(body))) return null;
  return { id: Number(id), ms: Number(ms), iso, link, tenant, hash, key, signature, signed, form, body };
}

/** Whether a key event names its keys and carries their signatures exactly as its kind asks. */
function isKeyEvent({ event, publicKey, previousKey, previousKeySignature: byPrevious, publicKeySignature: byNew }) {
  const [rotated, revoked] = [event === 'rotated', event === 'revoked'];
  const named = rotated ? previousKey !== null && previousKey !== publicKey : previousKey === null;
  return named && (byPrevious !== undefined) === rotated && (byNew !== undefined) === !revoked;
}

// --- Diagnosis (RF-21): why a line is not of the grammar. This names faults; it never accepts.

const SCALAR = `(?:""|0|-?${POSITIVE}|true|false|null)`;
const QUOTED = new RegExp(`${STRING.slice(0, -1)}(")|"(.*)`, 'gs'); // a whole string, or the rest from a bad one on
const FLAT = new RegExp(raw`\{(?:"":${SCALAR}(?:,"":${SCALAR})*)?\}|\[(?:${SCALAR}(?:,${SCALAR})*)?\]`, 'g');
const VERSIONS = new RegExp(
  raw`,"attestation":\{"algorithm":(${STRING}),"publicKey":${STRING},"signature":${STRING},` +
    raw`"signedAtIso":${STRING},"canonicalForm":(${STRING})\}\}$`,
);

/** Whether the bytes are UTF-8, without surrogates and overlong forms. */
function isUtf8(line) {
  if (!/[\x80-\xff]/.test(line)) return true;
  const bytes = Buffer.from(line, 'latin1');
  return Buffer.from(bytes.toString('utf8')).equals(bytes);
}

/** Whether a string holds more than 4,096 bytes; an escape counts as the byte it stands for (RF-4). */
function hasLongString(line) {
  const limit = MAX_STRING_BYTES + '""'.length;
  const strings = (line.length > limit && line.match(new RegExp(STRING, 'g'))) || [];
  return strings.some((text) => text.length > limit && text.replace(new RegExp(ESCAPE, 'g'), 'x').length > limit);
}

/** Whether the bytes are one canonical JSON value, at most 32 deep (RF-2 to RF-5). Strings are emptied first, so that
 * brackets inside them mislead nobody; then the innermost arrays and objects fold into `null` until a scalar is left.
 * Repeated and misplaced members pass here: the schema refuses them. */
function isCanonicalJson(line) {
  let [skeleton, before] = [line.replace(QUOTED, '"$1$2'), ''];
  for (let depth = 0; depth < MAX_DEPTH && skeleton !== before; depth += 1) {
    [before, skeleton] = [skeleton, skeleton.replace(FLAT, 'null')];
  }
  return new RegExp(`^${SCALAR}$`).test(skeleton);
}

/** Names verdict and check of a line that `readLine` refused: bytes and JSON first, then versions, then members. */
export function diagnose(line, layer) {
  const wellFormed = line.length <= MAX_LINE_BYTES && isUtf8(line) && isCanonicalJson(line) && !hasLongString(line);
  if (!wellFormed) return ['MALFORMED', 'encoding'];
  const [, algorithm, form] = VERSIONS.exec(line) ?? ['', '"ed25519"', '"v2"'];
  if (algorithm !== '"ed25519"') return ['UNSUPPORTED', 'algorithm'];
  if (!Object.hasOwn(GRAMMARS[layer] ?? GRAMMARS.L12, form.slice(1, -1))) return ['UNSUPPORTED', 'form'];
  return ['MALFORMED', 'schema'];
}

// --- Signatures (RF-13, RF-14): Ed25519 without the cofactor, after byte checks that make all libraries agree.

const littleEndian = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const EIGHTH = littleEndian(Buffer.from('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex'));
const LOW_ORDER_Y = [0n, 1n, P - 1n, EIGHTH, P - EIGHTH]; // with either sign; y = p and p + 1 are not canonical anyway
const SPKI = Buffer.from('302a300506032b6570032100', 'hex'); // RFC 8410: what stands before the 32 bytes of a key

/** Whether 32 bytes can stand for a point: y canonical and not of low order. */
function isPoint(bytes) {
  const y = littleEndian(bytes) & (2n ** 255n - 1n);
  return y < P && !LOW_ORDER_Y.includes(y);
}

const keyObject = remember((key) => // OpenSSL's form of a key
  crypto.createPublicKey({ key: Buffer.concat([SPKI, Buffer.from(key, 'latin1')]), format: 'der', type: 'spki' }));

/** Whether a signature verifies: lengths, A and R canonical and not of low order, S < L, then the equation. */
export function ed25519Holds(key, message, signature) {
  if (key.length !== 32 || signature.length !== 64 || littleEndian(signature.subarray(32)) >= L) return false;
  if (!isPoint(key) || !isPoint(signature.subarray(0, 32))) return false;
  return crypto.verify(null, message, keyObject(key.toString('latin1')), signature);
}

// --- Checks (RF-20), in the norm's order. `before` is the entry of the line before, null when that is malformed. A
// task is a chain to judge: its files (copies of it), layer, tenant, origin and options; the keys trusted for it, and
// whether any came from outside (`anchored`); its checkpoints; the sizes where tree, time and head are to be noted.

const [bytesOf, scratch] = [(base64) => Buffer.from(base64, 'base64'), Buffer.allocUnsafe(BUFFER_BYTES)];
/** The bytes of a latin1 string, which stand until the next such call. */
const bytesIn = (text) => (text.length > scratch.length ? Buffer.from(text, 'latin1')
  : scratch.subarray(0, scratch.write(text, 'latin1')));

/** SHA-256 of bytes, in a buffer or a latin1 string, as hex or as such a string. Node 20 has a quicker way. */
function sha256(data, encoding = 'hex') {
  const bytes = typeof data === 'string' ? bytesIn(data) : data;
  return crypto.hash?.('sha256', bytes, encoding) ?? crypto.createHash('sha256').update(bytes).digest(encoding);
}

/** Whether a key of the policy is for that use, at that id or size of a checkpoint (RF-18). */
const maySign = (key, use, id) => key.use === use && key.fromId <= id && (key.toId === null || id <= key.toId);
/** The imagined entry before id 1 (RF-10); without an origin its hash is unknown. */
const genesis = (origin) => ({ id: 0, ms: 0, hash: origin && sha256(`prometheus-receipts genesis v1\n${origin}\n`) });

/** Whether a signature holds over DSSE's PAE of a type and a body; key and signature in base64 (RF-12). */
function paeHolds(type, body, key, signature) {
  const message = bytesIn(`DSSEv1 ${type.length} ${type} ${body.length} ${body}`);
  return ed25519Holds(bytesOf(key), message, bytesOf(signature));
}

/** Whether the attestation holds, which binds layer, form, time and body; in a key event those of its keys too. */
function isSigned({ key, signature, form, signed, body }, layer) {
  const type = `application/vnd.prometheus.receipt+json;layer=${layer};form=${form};signedAt=${signed}`;
  if (!paeHolds(type, body, key, signature)) return false;
  if (layer !== 'L3') return true;
  const [event, kind] = [JSON.parse(body), 'application/vnd.prometheus.key-event+json;layer=L3;form=v2'];
  const said = `${body.split(/,"(?:previous|public)KeySignature":"/, 1)[0]}}`;
  const named = [[event.previousKey, event.previousKeySignature], [event.publicKey, event.publicKeySignature]];
  return named.every(([by, proof]) => !proof || paeHolds(kind, said, by, proof));
}

const CHECKS = { // what a page calls a check, and when it holds
  id: ['Ids contiguous', (entry, before) => !before || entry.id === before.id + 1], // RF-10: from 1 without gaps
  link: ['Hash chain', (entry, before) => !before?.hash || entry.link === before.hash], // RF-10: or to the origin
  tenant: ['One tenant', (entry, _, task) => entry.tenant === task.tenant], // RF-10: in every entry or in none
  hash: ['Body hashes', (entry) => entry.hash === sha256(entry.body)], // RF-7: of the body as stored
  time: ['Timestamps', (entry, before) => !before || entry.ms >= before.ms], // RF-9: never decreases
  key: ['Trust anchor', ({ key, id }, _, { anchored, keys }) => // RF-19: from outside; else UNANCHORED says so
    !anchored || keys.some((trusted) => trusted.publicKey === key && maySign(trusted, 'entry', id))],
  signature: ['Signatures', (entry, _, task) => task.options.level === 'chain' || isSigned(entry, task.layer)], // RF-12
};

/** Judges one line after the entry before it: the entry unless malformed, the checks it fails, and their verdict. */
function judgeLine(line, before, task) {
  const entry = readLine(line, task.layer);
  const [name, ...failed] = entry ? [entry.id === before?.id ? 'FORKED' : 'TAMPERED'] : diagnose(line, task.layer);
  if (entry) for (const check in CHECKS) if (!CHECKS[check][1](entry, before, task)) failed.push(check);
  return { entry, name, failed };
}

/** Whom a chain trusts after one more event of the key log; no range ever becomes wider (RF-28). */
function ringAfter(ring, { event, use, publicKey, previousKey, chains }, chain) {
  const at = chains.find((row) => row.chain === chain)?.atId ?? 1;
  const held = ring.filter((key) => key.publicKey === previousKey && maySign(key, use, at));
  if (event === 'created' || (event === 'rotated' && !held.length)) return ring;
  const ends = (key) => key.use === use && key.publicKey === (previousKey ?? publicKey);
  const kept = ring.filter((key) => !ends(key) || key.fromId < at)
    .map((key) => (ends(key) ? { ...key, toId: Math.min(key.toId ?? Infinity, at - 1) } : key));
  const toId = held.some((key) => key.toId === null) ? null : Math.max(...held.map((key) => key.toId));
  return event === 'rotated' ? [...kept, { publicKey, use, fromId: at, toId }] : kept;
}

// --- Blocks: the file flows through, never whole in memory. Workers judge blocks, this thread joins the findings.

const node = (left, right) => sha256(`\x01${left}${right}`, 'latin1');

/** Adds a leaf or subtree to the complete subtrees, `[height, hash]` from left to right, of an RFC 6962 tree (RF-16).
 * `end` is where a block's subtree ends among all leaves: only what begins aligned there may be paired. */
export function grow(tree, hash, height = 0, end = 0) {
  for (; tree.at(-1)?.[0] === height && end % 2 ** (height + 1) === 0; height += 1) hash = node(tree.pop()[1], hash);
  tree.push([height, hash]);
}

/** The root, as hex; that of no leaves is the hash of nothing (RF-16). */
export function rootOf(tree) {
  const hashes = tree.length ? tree.map(([, hash]) => hash) : [sha256('', 'latin1')];
  return Buffer.from(hashes.reduceRight((right, left) => node(left, right)), 'latin1').toString('hex');
}

const verdict = (name, check = null, id = null, offset = null) => ({ name, id, check, offset });

/** What lines showed: those of a block, or of the whole file once its blocks are joined. */
const noFindings = () => ({
  bad: null, first: null, last: null, entries: 0, faults: {}, keys: {}, lines: 0, tree: [], fileBytes: 0, tornBytes: 0,
  met: {}, // tree, time and head at the sizes asked for
});
const count = (counts, name, more = 1) => { counts[name] = (counts[name] ?? 0) + more; };

const BREAK = 0x0a; // the only line break (RF-1)

/** The lines of a block, one by one. */
function* linesIn(buffer, end) {
  for (let [at, stop] = [0, 0]; at < end; at = stop + 1) {
    stop = buffer.indexOf(BREAK, at);
    yield buffer.latin1Slice(at, stop);
  }
}

/** Judges a block of whole lines, in any thread. */
function judgeBlock(buffers, { number, offset, previous, turn, end }, task) {
  const found = noFindings();
  let before = number === 1 ? genesis(task.origin) : readLine(previous, task.layer);
  for (const line of linesIn(buffers[turn], end)) {
    const { entry, name, failed } = judgeLine(line, before, task);
    if (entry) {
      [found.first, found.last] = [found.first ?? entry, entry];
      found.entries += 1;
      count(found.keys, entry.key);
    }
    for (const check of failed) count(found.faults, check);
    if (failed.length) found.bad ??= verdict(name, failed[0], entry?.id ?? number, offset);
    else if (task.layer === 'L3') { // each event decides whose line may be next
      const event = JSON.parse(entry.body);
      task.keys = ringAfter(task.keys, event, 'keys');
      for (const chain in task.rings) task.rings[chain] = ringAfter(task.rings[chain], event, chain);
    }
    grow(found.tree, sha256(`\x00${line}`, 'latin1'), 0, number);
    if (task.sizes.has(number)) found.met[number] = { tree: [...found.tree], ms: entry?.ms ?? 0, head: entry?.hash };
    [before, number, offset] = [entry, number + 1, offset + line.length + 1];
    found.lines += 1;
    if (failed.length && task.options['stop-early']) break;
  }
  return found;
}

/** Adds what the next block of the file showed. */
function join(found, block) {
  const joined = (subtrees) => {
    const tree = [...found.tree];
    for (const [height, hash] of subtrees) grow(tree, hash, height);
    return tree;
  };
  for (const [size, mark] of Object.entries(block.met)) found.met[size] = { ...mark, tree: joined(mark.tree) };
  for (const [key, n] of Object.entries(block.keys)) {
    if (key in found.keys || Object.keys(found.keys).length < MAX_KEYS_LISTED) count(found.keys, key, n);
  }
  for (const [check, n] of Object.entries(block.faults)) count(found.faults, check, n);
  found.tree = joined(block.tree);
  [found.lines, found.entries] = [found.lines + block.lines, found.entries + block.entries];
  [found.bad, found.first] = [found.bad ?? block.bad, found.first ?? block.first];
  found.last = block.last ?? found.last;
}

/** Where reading stands: bytes read; number and offset of the next line, and the line before it. */
const readerOf = (file) => ({ file, size: 0, number: 1, offset: 0, previous: '' });

/** Reads on to the end of a file in blocks of whole lines; a block stands in the next of the buffers, up to `end`. */
function* readBlocks(reader, buffers) {
  const [file, began] = [fs.openSync(reader.file), reader.offset > 0]; // only what began elsewhere needs positions
  let [fill, turn] = [0, 0];
  reader.size = reader.offset; // what was no line yet is read again: other bytes may stand there now
  try {
    for (;;) {
      const buffer = buffers[turn];
      const size = fs.readSync(file, buffer, fill, READ_BYTES, began ? reader.size : null);
      if (!size) return;
      [reader.size, fill] = [reader.size + size, fill + size];
      const end = buffer.subarray(0, fill).lastIndexOf(BREAK) + 1;
      if (end) {
        const { number, offset, previous } = reader;
        for (let at = 0; at < end; reader.number += 1) at = buffer.indexOf(BREAK, at) + 1;
        reader.offset = reader.size - (fill - end);
        reader.previous = buffer.latin1Slice(buffer.subarray(0, end - 1).lastIndexOf(BREAK) + 1, end - 1);
        yield { number, offset, previous, turn, end };
        turn = (turn + 1) % buffers.length;
      }
      // More of an endless line would not change how it is judged.
      fill = buffer.copy(buffers[turn], 0, end, Math.min(fill, end + MAX_LINE_BYTES + 1));
    }
  } finally {
    fs.closeSync(file);
  }
}

/** The whole lines of a file. */
function* readLines(file) {
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  for (const { end } of readBlocks(readerOf(file), [buffer])) yield* linesIn(buffer, end);
}

/** Starts a thread that judges blocks in the order in which it is given them. */
function startWorker(receipts) {
  const resourceLimits = { maxYoungGenerationSizeMb: 4 }; // stay small
  const [worker, waiting] = [new Worker(SELF, { workerData: { receipts }, resourceLimits }), []];
  worker.on('message', (judged) => waiting.shift()(judged));
  const judge = (block) => new Promise((resolve) => { waiting.push(resolve); worker.postMessage(block); });
  return { judge, stop: () => worker.terminate() };
}

/** Judges what a file holds beyond what has been read of it, in several threads when that is much. */
async function examine(reader, task, found, session) {
  const [{ size }, asked, window] = [fs.statSync(reader.file), task.options.workers, []];
  const alone = task.layer === 'L3' || !(asked || size - reader.offset >= PARALLEL_BYTES);
  const threads = alone ? 1 : asked || os.cpus().length;
  const buffers = Array.from({ length: threads > 1 ? 2 * threads : 1 }, // a worker judges one, one waits
    () => Buffer.from(new SharedArrayBuffer(BUFFER_BYTES)));
  const pool = Array.from({ length: threads }, () => (threads > 1 ? startWorker({ task, buffers })
    : { judge: (block) => judgeBlock(buffers, block, task), stop() {} }));
  const enough = () => task.options['stop-early'] && found.bad;
  const joinNext = async () => {
    const block = await window.shift();
    if (!enough()) join(found, block);
  };
  for (const block of readBlocks(reader, buffers)) {
    window.push(pool[block.turn % threads].judge(block));
    if (window.length === buffers.length) await joinNext(); // which frees the buffer that is filled next
    showProgress(session, reader.offset, size, found.lines);
    if (enough() || session.stopped) break;
  }
  while (window.length) await joinNext();
  pool.forEach((worker) => worker.stop());
  const ended = enough() || session.stopped;
  found.fileBytes = ended ? Math.max(size, reader.size) : reader.size;
  found.tornBytes = ended ? 0 : reader.size - reader.offset;
}

/** The id at which two sound copies first differ; null when they agree as far as both go. */
function findFork(file, copy) {
  const twins = readLines(copy);
  let id = 0;
  for (const line of readLines(file)) {
    const { done, value } = twins.next();
    id += 1;
    if (done) return null;
    if (value !== line) return twins.return(id).value;
  }
  return twins.return(null).value;
}

// --- Evidence (RF-17 to RF-19): what the person brings from outside. Whatever is wrong with it is a usage error.

const POLICY = new RegExp( // what a policy is, its members sorted and defaults filled in (RF-18)
  raw`^\{"keys":\[(?:\{"fromId":${COUNT},"publicKey":"${BASE64_32}","toId":(?:null|${COUNT}),` +
  raw`"use":"(?:entry|checkpoint)"\},?)*\],"origin":"(?=[^"]{5,200}")([a-z0-9.-]+/([a-z0-9.-]+)/([a-z0-9.-]+))",` +
  raw`"quorum":(${COUNT}),"witnesses":\[(?:"[ !#-\[\]-~]*",?)*\]\}$`,
);
const POLICY_FORM = `it is not {"origin": "<substrateId>/<chain>/<tenantId>", "keys": [{"publicKey": "<base64>", "use":
  "entry" or "checkpoint", "fromId": 1, "toId": null}, ...], "witnesses": [], "quorum": 0 (more is not known here)}`;
const BASE64 = '(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?';
const DASH = Buffer.from('\u2014').toString('latin1');
const NOTE = new RegExp( // C2SP signed-note: text, an empty line, signatures
  `^(([^\n]+)\n(0|[1-9][0-9]{0,14})\n(${BASE64_32})\n(?:[^\n]+\n)*)\n((?:${DASH} [^ +\n]+ ${BASE64}\n)+)$`,
);

/** Something given cannot be used; the message says what and why. */
class UsageError extends Error {}

/** Refuses what was given unless something holds. */
function expect(holds, sentence) {
  if (!holds) throw new UsageError(sentence);
}

const MAX_SIGNATURES = 16; // of a checkpoint by one key
const BOUNDS = { policy: 1 << 20, checkpoint: 64 << 10, proof: 256 << 10, state: 66 << 10 };

/** Refuses what is no regular file (a pipe would be read only once), or larger than anything of its kind can be. */
function expectFile(place, kind = '') {
  const stat = fs.statSync(place);
  expect(stat.isFile(), `${place} is not a regular file; save it to one first.`);
  const fits = !kind || stat.size <= BOUNDS[kind];
  expect(fits, `${place} has ${stat.size} bytes; a ${kind} has at most ${BOUNDS[kind]}.`);
}

/** Text from outside as it may be printed, and a list of such. */
const printable = (text) => text.replace(/[^ -~]/gu, '?');
const listed = (names) => names.map(printable).sort().join(', ');

/** Reads a policy's origin, chain, tenant and keys; throws UsageError for anything but exactly a policy. */
function readPolicy(file) {
  expectFile(file, 'policy');
  const sorted = (members) => Object.fromEntries(Object.entries(members).sort());
  const [text, string] = [fs.readFileSync(file, 'utf8'), /"(?:[^"\\]|\\.)*"(\s*:)?/g];
  let [policy, keys] = [{}, []];
  try {
    const told = JSON.parse(text);
    const names = [...text.matchAll(string)].filter(([, colon]) => colon);
    const once = [told, ...told.keys].flatMap(Object.keys).length === names.length; // no member is repeated
    const exact = !/[.eE]|[0-9]{17}/.test(text.replace(string, '')); // no number is rounded
    keys = told.keys.map((key) => sorted({ fromId: 1, toId: null, ...key }));
    if (once && exact) policy = sorted({ quorum: 0, witnesses: [], ...told, keys });
  } catch { /* an empty policy is none */ }
  const [, origin, chain, tenant, quorum] = POLICY.exec(JSON.stringify(policy)) ?? [];
  expect(quorum === '0', `${file}: ${POLICY_FORM}`);
  return { origin, chain, tenant, keys };
}

/** Reads the policies given, those of a folder by name. */
function readPolicies(given) {
  const policies = given.flatMap((place) => {
    if (!isFolder(place)) return [place];
    const names = fs.readdirSync(place).filter((name) => /^policy-[^]*[.]json$/.test(name)).sort();
    expect(names.length, `${place}: there is no policy in this folder, no file such as policy-decisions.json`);
    return names.map((name) => `${place}/${name}`);
  }).map(readPolicy);
  const places = new Set(policies.map(({ chain, tenant }) => `${chain}/${tenant}`));
  expect(places.size === policies.length, 'two policies are for one chain of one tenant; give one');
  return policies;
}

const logOf = (note) => note.split('\n', 1)[0];

/** Size and root that a checkpoint claims, whoever signed it. */
function headOf(note) {
  const [, , , size, root] = NOTE.exec(note);
  return { size: Number(size), root: bytesOf(root).toString('hex') };
}

/** Size and root of a checkpoint that a key of the task signed for its origin (RF-17); else UsageError. */
function readNote(file, note, { origin, keys }) {
  const [, text, log, size, , lines] = NOTE.exec(note) ?? [];
  expect(text && log === origin, `${file}: it is not a signed checkpoint of ${origin || 'a log that a policy names'}`);
  const ours = lines.split('\n').map((line) => line.split(' ')).filter(([, name]) => name === log);
  const holds = keys.filter((key) => maySign(key, 'checkpoint', Math.max(Number(size), 1))).flatMap(({ publicKey }) => {
    const key = bytesOf(publicKey);
    const id = sha256(Buffer.concat([Buffer.from(`${log}\n\x01`), key])).slice(0, 8);
    const blobs = ours.map(([, , blob]) => bytesOf(blob)).filter((blob) => blob.toString('hex', 0, 4) === id);
    expect(blobs.length <= MAX_SIGNATURES, `${file}: more than ${MAX_SIGNATURES} of its lines are for one key`);
    return blobs.map((blob) => ed25519Holds(key, Buffer.from(text, 'latin1'), blob.subarray(4)));
  });
  expect(holds.length && holds.every(Boolean), `${file}: no checkpoint key of the policy signed it`);
  return headOf(note);
}

/** Adds a checkpoint to a task. */
function addCheckpoint(task, file, note) {
  const checkpoint = readNote(file, note, task);
  task.checkpoints.push(checkpoint);
  task.sizes.add(checkpoint.size);
}

/** The keys a key log starts from: a policy's ranges for entries are about its own chain (RF-29). */
const endless = (ring) => ring.map((key) => (key.use === 'entry' ? { ...key, fromId: 1, toId: null } : key));
/** The origin of the key log beside a chain, '' without an origin. */
const keyLogOf = ({ origin }) => origin.replace(/\/.*\//, '/keys/');
/** The name of a layer's chain; empty when the layer is not known. */
const chainOf = (layer) => Object.keys(LAYERS).find((name) => LAYERS[name] === layer) ?? '';

/** Leads the keys of tasks under one policy on by the key log, once that passes by itself (RF-28, RF-29). */
async function followKeyLog(file, tasks, notes, session) {
  const [{ tenant, keys, options }, origin] = [tasks[0], keyLogOf(tasks[0])];
  const ours = [...notes].filter(([, note]) => origin && logOf(note) === origin);
  let [log, found] = [{ keys }, null];
  for (const held of ours.length ? [[], ours] : [[]]) { // the second time under what the whole log leaves (RF-29)
    log = {
      files: [file], layer: 'L3', tenant, origin, keys: log.keys, anchored: true, checkpoints: [], sizes: new Set(),
      rings: Object.fromEntries(tasks.map((task) => [chainOf(task.layer), keys])),
      options: { ...options, level: 'full', 'stop-early': false, maxAgeMs: null, minEntries: 0 },
    };
    for (const [name, note] of held) addCheckpoint(log, name, note);
    [log.keys, found] = [endless(keys), noFindings()];
    await examine(readerOf(file), log, found, session);
    const { name, id, check } = decide(log, [found], null, 0);
    const where = `${name}${id ? `, id ${id}` : ''}${check ? `, check ${check}` : ''}`;
    expect(name === 'PASS', `${file}: this key log is no evidence, its verdict is ${where}`);
    expect(found.lines, `${file}: this key log is no evidence, it holds no events`);
  }
  const told = [`Key log ${printable(path.basename(file))}: ${found.lines} entries, head ${found.last.hash}.`];
  if (!ours.length) {
    told.push('No checkpoint of the key log was given: a rotation or revocation cut from its end cannot be seen.');
  }
  for (const task of tasks) Object.assign(task, { keyLog: true, keys: log.rings[chainOf(task.layer)], told });
}

// --- Verdict (RF-22): the earliest bad line of the first copy that has one; else the first that applies of the table.

const firstOf = (applies) => applies.find(([holds]) => holds)?.[1] ?? verdict('PASS');

/** Whether the chain reaches a checkpoint's size and every copy that does has its root there (RF-17). */
function meets(copies, { size, root }) {
  const rootAt = (copy) => (size === 0 ? rootOf([]) : copy.met[size] && rootOf(copy.met[size].tree));
  return rootAt(copies[0]) !== undefined && copies.every((copy) => (rootAt(copy) ?? root) === root);
}

/** The first verdict that applies; `lost` is what was seen of the whole file, by whatever key. */
function decide({ anchored, checkpoints, options }, copies, fork, nowMs, lost = null) {
  const [chain, bad] = [copies[0], copies.find((copy) => copy.bad)?.bad];
  const torn = copies.find((copy) => copy.tornBytes);
  const newest = Math.max(0, ...checkpoints.map(({ size }) => size));
  const fresh = newest && nowMs - (chain.met[newest]?.ms ?? 0) <= options.maxAgeMs;
  return firstOf([
    [bad, bad],
    [lost, lost],
    [!anchored, verdict('UNANCHORED')],
    [newest > chain.lines, verdict('TRUNCATED', 'checkpoint')],
    [options.minEntries > chain.lines, verdict('TRUNCATED', 'min-entries')],
    [!checkpoints.every((signed) => meets(copies, signed)), verdict('FORKED', 'checkpoint')],
    [fork !== null, verdict('FORKED', 'copies', fork)],
    [torn, verdict('TORN_TAIL', 'framing', null, torn ? torn.fileBytes - torn.tornBytes : null)],
    [options.maxAgeMs !== null && !fresh, verdict('STALE', 'max-age')],
  ]);
}

// --- Report: numbers, hashes, times and words of this file, never an entry's text, so that no terminal obeys it.

const MARKS = { true: 'ok    ', false: 'FAIL  ', null: '-     ' };
const LIMITS = `What a PASS does not prove: that a record is true, that every act was recorded, that the clock was right
before the first anchor, or (without a checkpoint) that nothing was cut from the end.
`;

/** A line of a page; what passed, failed or was not looked at is marked so. */
const fact = (label, words) => label.padEnd(18) + words;
const marked = (label, ok, words) => fact(label, MARKS[ok] + words);

/** One report: a name that may be printed, its JSON, and its page. Every kind begins with its input or verdict and ends
 * with the notes; between them stands what is its own: members of the JSON, lines of the page, notes. */
function makeReport(kind, task, bytes, { name, id, check, offset }, { members, lines, untold = [], notes = [] }) {
  const [file, where] = [printable(path.basename(task.files[0])), Object.entries({ id, check, offset })];
  const report = { verdict: name, exit: EXITS.indexOf(name), id, check, offset, ...members };
  report.notes = [
    [!task.anchored, 'No key was given from outside: anyone can write a chain that carries its own key.'],
    [task.unfit, 'None of the policies given is for this chain.'],
    ...task.told.map((note) => [true, note]),
    ...untold,
    [task.options.level === 'chain', 'Level chain does not check signatures: a forged one passes unseen.'],
    ...notes,
  ].filter(([holds]) => holds).map(([, note]) => note);
  const page = [
    `RECEIPT ${kind.toUpperCase()} VERIFICATION\n`,
    fact(`${kind} file`, `${file}, ${bytes} bytes`),
    fact('Origin', task.origin || 'not given'),
    fact('Layer, tenant', `${task.layer || 'not known'}, ${task.tenant}`),
    fact('Level', `${task.options.level}\n`),
    ...lines,
    fact('VERDICT', `${name} (exit ${report.exit})`) +
      where.filter(([, value]) => value !== null).map(([word, value]) => `, ${word} ${value}`).join(''),
    '',
    ...report.notes.map((note) => `Note: ${note}`),
    LIMITS,
  ];
  return { name: file, report, text: page.join('\n') };
}

/** The keys that signed entries or may, the trusted first, with their ranges once a key log has changed these; as lines
 * too; and a note on the first that nobody trusts. */
function keysTold({ keys, keyLog, anchored }, counts) {
  const spans = new Map();
  for (const { publicKey, use, fromId, toId } of keys) {
    if (use === 'entry') spans.set(publicKey, [...(spans.get(publicKey) ?? []), [fromId, toId]]);
  }
  const told = [...new Set([...spans.keys(), ...Object.keys(counts)])].map((key) => ({
    fingerprint: sha256(bytesOf(key)), entries: counts[key] ?? 0, ...(keyLog && { ranges: spans.get(key) ?? [] }),
  }));
  const span = ([start, end]) => (end === null ? `from ${start} on` : `from ${start} to ${end}`);
  const lines = told.map(({ fingerprint, entries, ranges = [] }, i) => {
    const trusted = [i < spans.size ? 'trusted' : 'not trusted', ranges.map(span).join(' and ')].filter(Boolean);
    return `  key ${fingerprint} ${trusted.join(' ')}, ${entries} entries`;
  });
  const stranger = told[spans.size]?.fingerprint;
  const way = 'if it came by a rotation, give the key log with --key-log.';
  return [told, lines, [anchored && !keyLog && stranger, `Key ${stranger} is not trusted by the policy; ${way}`]];
}

/** A line a check: how many entries hold. */
function checkLines({ anchored, options }, checks, faults, entries) {
  const skipped = { key: !anchored, signature: options.level === 'chain' };
  const held = (check) => entries - (faults[check] ?? 0);
  return checks.map((check) => (skipped[check] ? marked(CHECKS[check][0], null, 'not checked')
    : marked(CHECKS[check][0], entries ? held(check) === entries : null, `${held(check)}/${entries}`)));
}

// --- A chain.

const MAX_AHEAD_MS = 5 * 60 * 1000; // two clocks differ by less

/** Judges a chain and its copies. */
async function judgeChain(given, session) {
  let [task, copies, lost, notes] = [given, [], null, []];
  if (task.options.follow) [task, copies, lost, notes] = await follow(given, session);
  else {
    const tasks = task.files.map(() => ({ ...given })); // a key log changes its task's keys
    for (const [i, file] of task.files.entries()) {
      copies.push(noFindings());
      await examine(readerOf(file), tasks[i], copies[i], session);
    }
    [task] = tasks;
  }
  const sound = !copies.some(({ bad }) => bad);
  const forks = task.files.slice(1).map((copy) => findFork(task.files[0], copy)).filter((id) => id !== null);
  const fork = forks.length ? Math.min(...forks) : null;
  const repeated = task.options.unique && sound ? findRepeat(task.files[0], task.layer, copies[0].lines) : null;
  if (repeated !== null) lost ??= verdict('TAMPERED', 'unique', repeated);
  const newest = copies[0].met[Math.max(0, ...task.checkpoints.map(({ size }) => size))];
  if (task.options.maxAgeMs !== null && newest?.ms > session.nowMs + MAX_AHEAD_MS) {
    notes = [...notes, 'The newest checkpoint lies in the future by the clock of this machine.'];
  }
  return { task, copies, sound, fork, repeated, notes, verdict: decide(task, copies, fork, session.nowMs, lost) };
}

/** What a first line that its table refuses looks like: the name of another chain, or nothing. */
function otherChain({ origin, files: [file] }, bad) {
  if (!origin || bad?.offset !== 0 || bad.check !== 'schema') return '';
  const [line] = readLines(file);
  return chainOf(Object.keys(GRAMMARS).find((layer) => readLine(line, layer)));
}

/** The report of a chain: head and root are null when a bad line leaves them without meaning. */
function reportChain({ task, copies, sound, fork, repeated, notes, verdict: decided }) {
  const [chain, { options }] = [copies[0], task];
  const [[keys, keyLines, stranger], other] = [keysTold(task, chain.keys), otherChain(task, chain.bad)];
  const members = {
    entries: chain.entries,
    signatures: options.level === 'full' ? chain.entries - (chain.faults.signature ?? 0) : 0,
    headHash: (sound && chain.last?.hash) || null,
    rootHash: sound ? rootOf(chain.tree) : null,
    earliest: chain.first?.iso ?? null,
    latest: chain.last?.iso ?? null,
    keys,
    checkpoints: task.checkpoints.map((signed) => ({ size: signed.size, ok: sound ? meets(copies, signed) : null })),
    anchor: null,
  };
  const met = { true: 'met', false: 'not met', null: 'not compared' };
  const some = (ok) => (chain.lines ? ok : null); // of no line nothing is checked
  const whole = [some(!repeated), repeated ? `repeated at id ${repeated}` : chain.entries];
  const unique = sound ? whole : [null, 'not compared'];
  const lines = [
    marked('Entries', some(true), chain.entries),
    marked('Malformed lines', some(chain.lines === chain.entries), chain.lines - chain.entries),
    ...checkLines(task, Object.keys(CHECKS), chain.faults, chain.entries),
    ...keyLines,
    ...(options.unique ? [marked('Unique ids', ...unique)] : []),
    ...members.checkpoints.map(({ size, ok }) => marked('Checkpoint', ok, `size ${size}, ${met[ok]}`)),
    ...(task.checkpoints.length ? [] : [marked('Checkpoints', null, 'none given, so a cut tail cannot be seen')]),
    marked('Anchor age', null, 'no anchor given\n'),
    fact('Head hash', members.headHash ?? 'none'),
    fact('Root hash', members.rootHash ?? 'none'),
    fact('Earliest', members.earliest ?? 'none'),
    fact('Latest', `${members.latest ?? 'none'}\n`),
  ];
  const untold = [
    [!task.origin, 'No policy named the origin: the first link was not held against a genesis hash.'],
    [!task.checkpoints.length, 'No checkpoint was given: entries cut from the end cannot be seen.'],
  ];
  const compared = !sound ? 'not compared' : fork !== null ? `they differ at id ${fork}` : 'they agree';
  const nth = (i) => ['The second copy', 'The third copy'][i] ?? `Copy ${i + 2}`;
  return makeReport('Chain', task, chain.fileBytes, decided, { members, lines, untold, notes: [
    [options['stop-early'] && !sound, 'Judging stopped at the first bad line; what follows it was not read.'],
    [chain.tornBytes, `${chain.tornBytes} bytes after the last line break are a torn tail, not judged.`],
    [!chain.lines, 'This chain is empty: nothing was checked.'],
    [decided.check === 'min-entries', `${chain.lines} entries, at least ${options.minEntries} were asked for.`],
    stranger,
    [other, `The policy is for ${chainOf(task.layer)}; the first line looks like ${other}.`],
    ...notes.map((note) => [true, note]),
    ...copies.slice(1).map((copy, i) =>
      [true, `${nth(i)} has ${copy.lines} lines, ${copy.bad ? 'some bad' : 'none bad'}; ${compared}.`]),
  ] });
}

// --- An entry that stands alone: in a state, or in a proof.

/** The beginning of a file, as latin1. */
function readStart(file, bytes) {
  const [opened, buffer] = [fs.openSync(file), Buffer.allocUnsafe(bytes)];
  try {
    return buffer.latin1Slice(0, fs.readSync(opened, buffer, 0, bytes, null));
  } finally {
    fs.closeSync(opened);
  }
}

/** Judges an entry; `bad` is the verdict when it fails, which speaks of that id and offset. */
function judgeAlone(task, line, before, number, offset) {
  const { entry, name, failed } = judgeLine(line, before, task);
  const bad = failed.length ? verdict(name, failed[0], entry?.id ?? number, offset) : null;
  const [keys, keyLines, stranger] = keysTold(task, entry ? { [entry.key]: 1 } : {});
  const members = {
    entries: Number(entry !== null),
    signatures: Number(entry !== null && task.options.level === 'full' && !failed.includes('signature')),
    entryHash: entry && !bad ? entry.hash : null,
    recordedAt: entry?.iso ?? null,
    keys,
  };
  const faults = Object.fromEntries(failed.map((check) => [check, 1]));
  const lines = [
    marked('Entry', entry !== null, entry ? `id ${entry.id}, recorded ${entry.iso}` : failed[0]),
    ...checkLines(task, entry ? ['tenant', 'hash', 'key', 'signature'] : [], faults, 1),
    ...keyLines,
  ];
  return { entry, bad, members, lines, stranger };
}

// --- A state (RF-30): one line of the chain `state`, and what it says of every other chain.

/** Reads a state.json: its line, whether that is ended, and the entry in it, null when its line is not one. */
function readState(file) {
  expectFile(file, 'state');
  const content = readStart(file, MAX_LINE_BYTES + 2);
  const line = content.endsWith('\n') ? content.slice(0, -1) : content;
  return { line, whole: line !== content, entry: readLine(line, 'L1') };
}

/** What a state says of each chain; of its own that it ends here. */
const rowsOf = (entry) => (entry ? [
  ...JSON.parse(entry.body).chains, { chain: 'state', size: entry.id, rootHash: null, headHash: entry.hash },
] : []);

/** How a chain stands to its row in a state. */
function compare({ size, rootHash, headHash }, judged) {
  if (!judged?.sound) return judged ? 'not compared' : 'not given';
  const found = judged.copies[0];
  if (found.lines < size) return 'shorter';
  const { tree, head } = size ? found.met[size] : { tree: [], head: genesis(judged.task.origin).hash || headHash };
  return [null, rootOf(tree)].includes(rootHash) && head === headHash ? 'met' : 'another root or head';
}

/** Judges a state by itself and against the chains that were given. */
function reportState(task, judged) {
  const { line, whole } = readState(task.files[0]);
  const { entry, bad, members, lines, stranger } = judgeAlone(task, line, null, null, 0);
  const rows = rowsOf(entry).flatMap((row) => {
    const found = compare(row, judged.get(placeOf(LAYERS[row.chain], task.tenant)));
    if (row.rootHash === null && found === 'not given') return []; // nobody misses the chain of the states
    const lost = found === 'not given' && row.size > 0 && task.folder && !task.folder.has(`${row.chain}.jsonl`);
    const word = lost ? 'not in the folder' : found;
    const ok = { met: true, shorter: false, 'another root or head': false, 'not in the folder': false }[word] ?? null;
    return [bad ? { ...row, word: 'not compared', ok: null } : { ...row, word, ok }];
  });
  const having = (word) => rows.filter((row) => row.word === word);
  const missing = having('not given').map(({ chain }) => chain).join(', ');
  const newest = judged.get(placeOf('L1', task.tenant))?.copies[0].lines ?? 0;
  const decided = firstOf([
    [!whole, verdict('TORN_TAIL', 'framing', null, 0)],
    [bad, bad],
    [!task.anchored, verdict('UNANCHORED')],
    [having('shorter').length || having('not in the folder').length, verdict('TRUNCATED', 'state')],
    [having('another root or head').length, verdict('FORKED', 'state')],
  ]);
  return makeReport('State', task, fs.statSync(task.files[0]).size, decided, {
    members: { ...members, chains: rows.map(({ chain, size, ok }) => ({ chain, size, ok })) },
    lines: [
      ...lines,
      ...rows.map(({ chain, size, ok, word }) => marked(`  ${chain}`, ok, `size ${size}, ${word}`)),
      '',
      fact('Entry hash', `${members.entryHash ?? 'none'}\n`),
    ],
    notes: [
      stranger,
      [entry && newest > entry.id, `This is state ${entry?.id}; the chain of states goes on to ${newest}.`],
      [missing, `These chains were not given, so their rows were compared with nothing: ${missing}.`],
    ],
  });
}

// --- A proof of one entry (RF-32): the entry, its path up the tree, and the checkpoint there.

const PROOF_TITLE = 'c2sp.org/tlog-proof@';
const PROOF = new RegExp(
  `^c2sp[.]org/tlog-proof@v1\nextra (${BASE64})\nindex (0|[1-9][0-9]{0,15})\n((?:${BASE64_32}\n){0,63})\n([^]*)$`,
);

/** Reads a C2SP tlog-proof that carries its line; nothing is judged yet. */
function readProof(file) {
  expectFile(file, 'proof');
  const [, extra = '', index, hashes, note = ''] = PROOF.exec(readStart(file, BOUNDS.proof)) ?? [];
  const exact = bytesOf(extra).toString('base64') === extra && NOTE.test(note) && Number(index) < Number(TOP);
  expect(exact, `${file}: it is not a proof of one entry, c2sp.org/tlog-proof@v1 with the line as extra`);
  const path = hashes.split('\n').slice(0, -1).map((hash) => bytesOf(hash).toString('latin1'));
  return { line: bytesOf(extra).toString('latin1'), leaf: Number(index), path, note };
}

/** Whether a path leads from a leaf to the root of the tree of that size (RFC 9162 section 2.1.3.2). */
function leadsTo(root, hash, index, size, path) {
  let last = size - 1;
  if (index > last) return false;
  for (const sibling of path) {
    if (last === 0) return false;
    if (index % 2 || index === last) {
      hash = node(sibling, hash);
      while (index && index % 2 === 0) [index, last] = [index / 2, Math.floor(last / 2)];
    } else hash = node(hash, sibling);
    [index, last] = [Math.floor(index / 2), Math.floor(last / 2)];
  }
  return last === 0 && Buffer.from(hash, 'latin1').toString('hex') === root;
}

/** Judges a proof of one entry; UsageError when its checkpoint is no evidence under the policy there is. */
function reportProof(task) {
  const { line, leaf, path: steps, note } = task.proof;
  const [number, signed] = [leaf + 1, Boolean(task.anchored && task.origin)];
  const { size, root } = signed ? readNote(task.files[0], note, task) : headOf(note);
  const first = number === 1 && line.startsWith('{"id":1,'); // whose link can be checked
  const before = first ? genesis(task.origin) : null;
  const { entry, bad, members, lines, stranger } = judgeAlone(task, line, before, number, null);
  const reached = leadsTo(root, sha256(`\x00${line}`, 'latin1'), leaf, size, steps);
  const inclusion = reached && entry?.id === number;
  const decided = firstOf([
    [bad, bad],
    [!signed, verdict('UNANCHORED')],
    [!inclusion, verdict('FORKED', 'proof', entry?.id ?? number)],
  ]);
  const [by, leads] = [signed ? 'by a trusted key' : 'not checked', inclusion ? 'lead' : 'do not lead'];
  return makeReport('Proof', task, fs.statSync(task.files[0]).size, decided, {
    members: { ...members, index: leaf, checkpoint: { size, rootHash: root, ok: signed || null }, inclusion },
    lines: [
      ...lines,
      marked('Checkpoint', signed || null, `size ${size}, signature ${by}`),
      marked('Inclusion', inclusion, `index ${leaf}, ${steps.length} hashes ${leads} to its root\n`),
      fact('Entry hash', members.entryHash ?? 'none'),
      fact('Root hash', `${root}\n`),
    ],
    untold: [
      [!signed, "No policy named the origin and a checkpoint key: the checkpoint's signature was not checked."],
    ],
    notes: [stranger, [true, 'This is about one entry: nothing is said of the entries around it.']],
  });
}

// --- A chain that grows: judged as far as it goes, then watched.

const POLL_MS = 200;

/** Judges a file and what is appended to it, until a line is bad, the file is cut or exchanged, or a signal comes. */
async function follow(began, session) {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => { session.stopped = true; });
  const [file] = began.files;
  const notes = ['Lines that were judged are not read again: a change in place after that is not seen.'];
  let [task, reader, found, lost, inode] = [{ ...began }, readerOf(file), noFindings(), null, fs.statSync(file).ino];
  for (;;) {
    const { size, ino } = fs.statSync(file, { throwIfNoEntry: false }) ?? { size: 0, ino: inode };
    const [old, { lines }] = [found, found];
    if (ino !== inode) {
      expectFile(file);
      task = { ...began, sizes: new Set([...began.sizes, lines]) };
      [inode, reader, found] = [ino, readerOf(file), noFindings()];
      await examine(reader, task, found, session);
      const other = lines && found.lines >= lines && rootOf(found.met[lines].tree) !== rootOf(old.tree);
      if (found.lines < lines || other) lost = verdict(other ? 'FORKED' : 'TRUNCATED', 'follow');
      notes.push(`The file was replaced after ${lines} lines; the new one has ${found.lines}.`);
      if (lost) found = old;
    } else if (size < reader.offset) {
      lost = verdict('TRUNCATED', 'follow');
      notes.push(`The file had ${reader.size} bytes and now has ${size}.`);
    } else await examine(reader, task, found, session);
    if (found.lines > lines) session.tell(`verify: ${found.lines} entries, ${found.bad?.name ?? 'all hold so far'}\n`);
    const over = () => lost || found.bad || session.stopped;
    if (!over()) await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
    if (over()) return [task, [found], lost, notes];
  }
}

// --- Ids that name an entry once in its chain (RF-23), looked for with --unique only.

const IDENTITIES = {
  L2: /"specHash":"(\w+)"()/, L4: /"buildId":"(b_\w+)"()/, L5: /"callId":"(c_\w+)".*"state":"(\w+)"/,
  L6: /"reviewId":"(r_\w+)"()/, L10: /"turnId":"(t_\w+)".*"outcome":"(\w+)"/, L11: /"versionId":"(v_\w+)"()/,
  L12: /"callId":"(c_\w+)"()/,
};
const MAX_SUSPECTS = 1 << 16;

/** Id, identity, what belongs to it and a 64-bit hash of each entry of a sound chain. */
function* identities(file, layer) {
  let number = 0;
  for (const line of readLines(file)) {
    const [, id, state] = IDENTITIES[layer].exec(line) ?? [];
    const name = layer === 'L5' ? id + state : id;
    number += 1;
    if (id) yield { number, name, state, digest: BigInt(`0x${sha256(name).slice(0, 16)}`) };
  }
}

/** The id of the first entry that repeats an identity; null when each is alone, or the layer has none. It keeps 8 bytes
 * an entry; where two hashes are equal it reads the file once more, to compare what they are hashes of. A turn that was
 * recorded as interrupted may be reported late, once (RF-24). */
function findRepeat(file, layer, lines) {
  if (!(layer in IDENTITIES)) return null;
  let [hashes, n] = [new BigUint64Array(lines), 0];
  for (const { digest } of identities(file, layer)) [hashes[n], n] = [digest, n + 1];
  hashes = hashes.subarray(0, n).sort();
  const suspects = new Set(hashes.filter((digest, i) => i && digest === hashes[i - 1]).subarray(0, MAX_SUSPECTS));
  const known = new Map();
  for (const { number, name, state, digest } of suspects.size ? identities(file, layer) : []) {
    const late = layer === 'L10' && known.get(name) === 'interrupted' && state !== 'interrupted';
    if (suspects.has(digest) && known.has(name) && !late) return number;
    if (suspects.has(digest)) known.set(name, state);
  }
  return null;
}

// --- Command line.

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const VALUES = { // what each option takes, in words too
  policy: [/./s, 'takes a path'], 'key-log': [/./s, 'takes a path'], checkpoint: [/./s, 'takes a path'],
  level: [/^(?:chain|full)$/, 'is chain or full'],
  layer: [new RegExp(`^(?:${Object.keys(GRAMMARS).join('|')})$`), `is one of ${Object.keys(GRAMMARS).join(' ')}`],
  'min-entries': [/^[0-9]{1,15}$/, 'takes a whole number'],
  'max-age': [/^[0-9]{1,15}[smhd]$/, 'takes a number and s, m, h or d, such as 24h'],
  workers: [/^(?=.{1,15}$)0*(?:[1-9]|[1-5][0-9]|6[0-4])$/, 'takes a number from 1 to 64'],
  'trusted-key': [new RegExp(`^${BASE64_32}$`), 'takes the base64 of 32 bytes'],
};
const SWITCHES = ['unique', 'follow', 'stop-early', 'json', 'version'];

/** Reads the command line; each value of a repeated option must be right, and the last counts, or all of a list. */
function readOptions(args) {
  const options = { help: { type: 'boolean', short: 'h' } };
  for (const name of SWITCHES) options[name] = { type: 'boolean' };
  for (const name in VALUES) options[name] = { type: 'string', multiple: true };
  const { values, positionals: inputs } = parseArgs({ args, options, allowPositionals: true });
  if (values.help || values.version) return values;
  for (const [name, [pattern, words]] of Object.entries(VALUES)) {
    for (const value of values[name] ?? []) expect(pattern.test(value), `--${name} ${words}, not ${value}`);
  }
  const named = inputs.length && inputs.every(Boolean);
  expect(named, 'give a chain, a tlog-proof, a state.json, or their folder; no path is empty');
  const last = (name, otherwise) => values[name]?.at(-1) ?? otherwise;
  const age = last('max-age', null);
  return {
    policy: [], checkpoint: [], 'trusted-key': [], ...values, inputs,
    level: last('level', 'full'), layer: last('layer', ''), keyLog: last('key-log'),
    minEntries: Number(last('min-entries', 0)), workers: Number(last('workers', 0)),
    maxAgeMs: age && parseInt(age, 10) * UNITS[age.at(-1)],
  };
}

/** Whether there is a folder of that name. */
function isFolder(place) {
  try {
    return fs.statSync(place).isDirectory();
  } catch { // whatever it is, its reading will say
    return false;
  }
}

/** Adds what lies in a ledger's folder, and takes down what in it is not looked at. */
function readFolder(place, inputs) {
  const inner = `${place}/chains`;
  const home = isFolder(inner) ? inner : place;
  const [top, names] = [fs.readdirSync(place), fs.readdirSync(home)];
  const chains = Object.keys(LAYERS).map((chain) => `${chain}.jsonl`).filter((name) => names.includes(name));
  const states = top.includes('state.json') ? [`${place}/state.json`] : [];
  expect(chains.length + states.length, `${place}: there is no chain in this folder, no file such as decisions.jsonl`);
  const seen = new Set([...chains.map((name) => `${home}/${name}`), ...states, inner === home ? inner : '']);
  for (const folder of new Set([place, home])) {
    for (const name of folder === home ? names : top) {
      const [found, shown] = [`${folder}/${name}`, folder === place ? name : `chains/${name}`];
      if (seen.has(found)) continue;
      if (isFolder(found)) inputs.folders.push(shown);
      else if (name.endsWith('.jsonl')) inputs.strays.push(shown);
    }
  }
  inputs.chains.push(...chains.map((name) => `${home}/${name}`));
  inputs.states.push(...states.map((file) => [file, new Set(names)]));
}

/** Tells chains, states (with the names beside them in a folder), proofs and folders apart. */
function readInputs(given) {
  const inputs = { chains: [], states: [], proofs: [], strays: [], folders: [], several: false };
  for (const place of given) {
    if (isFolder(place)) {
      readFolder(place, inputs);
      inputs.several = true;
    } else if (path.extname(place) === '.json') inputs.states.push([place, null]);
    else {
      expectFile(place);
      inputs[readStart(place, PROOF_TITLE.length) === PROOF_TITLE ? 'proofs' : 'chains'].push(place);
    }
  }
  for (const file of inputs.chains) expectFile(file);
  return inputs;
}

/** Layer and tenant of a chain's first line that can be read; else the layer that the file is named after. */
function settle(file, asked) {
  for (const line of readLines(file)) {
    for (const layer of asked ? [asked] : Object.keys(GRAMMARS)) {
      const entry = readLine(line, layer);
      if (entry) return [layer, entry.tenant];
    }
  }
  return [asked || (LAYERS[/^(.*)[.]jsonl$/s.exec(path.basename(file))?.[1]] ?? ''), '-'];
}

/** Puts what is judged together with its policy, that of its chain and tenant; where none is, the only policy given is
 * `meant` for it. UsageError when that is for another layer than was asked. */
function makeTask(files, [layer, tenant], policies, options, meant) {
  const policy = policies.find((one) => LAYERS[one.chain] === layer && one.tenant === tenant) ??
    (meant && policies.length === 1 ? policies[0] : undefined);
  const keys = options['trusted-key'].map((publicKey) => ({ publicKey, use: 'entry', fromId: 1, toId: null }));
  const task = {
    files, options, layer, tenant, origin: '', keyLog: false, told: [], checkpoints: [], sizes: new Set(), rings: {},
    unfit: Boolean(policies.length && !policy), keys: [...(policy?.keys ?? []), ...keys],
  };
  if (policy) {
    [task.layer, task.tenant, task.origin] = [LAYERS[policy.chain] ?? '', policy.tenant, policy.origin];
    const [fits, asked] = [task.layer && [task.layer, ''].includes(options.layer), options.layer];
    expect(fits, `the policy is for the chain ${policy.chain}, not for ${asked || 'one this version knows'}`);
  }
  if (task.layer === 'L3') task.keys = endless(task.keys);
  task.anchored = task.keys.length > 0;
  return task;
}

/** A key for a chain among those that were given. */
const placeOf = (layer, tenant) => `${layer ?? ''} ${tenant}`;

/** Groups files into chains and their copies, by layer and tenant. */
function chainTasks(files, policies, options) {
  const named = files.length === 1 && policies.length === 1; // the policy's, whatever the file holds
  const places = files.map((file) => (named ? ['', '-'] : settle(file, options.layer)));
  const known = places.find(([layer]) => layer) ?? ['', '-']; // with which goes what cannot be read
  const groups = new Map();
  for (const [i, file] of files.entries()) {
    const place = places[i][0] ? places[i] : known;
    groups.set(placeOf(...place), [place, ...(groups.get(placeOf(...place))?.slice(1) ?? []), file]);
  }
  return [...groups.values()].map(([place, ...copies]) =>
    makeTask(copies, place, policies, options, groups.size === 1));
}

/** Puts a state and its policy together. */
function stateTask([file, folder], policies, options) {
  const [tenant, meant] = [readState(file).entry?.tenant ?? '-', policies[0]?.chain === 'state'];
  return { ...makeTask([file], ['L1', tenant], policies, { ...options, layer: '' }, meant), folder };
}

/** Puts a proof of one entry and its policy together. */
function proofTask(file, policies, options) {
  const proof = readProof(file);
  const [, chain = '', tenant = ''] = logOf(proof.note).split('/');
  const layer = options.layer || (LAYERS[chain] ?? '');
  const task = makeTask([file], [layer, tenant], policies, options, true);
  if (!task.origin) task.tenant = readLine(proof.line, layer)?.tenant ?? '-';
  return { ...task, proof };
}

/** Leads every task's keys on by the key log, and gives each chain its checkpoints. */
async function addEvidence(tasks, chains, options, session) {
  for (const file of options.checkpoint) expectFile(file, 'checkpoint');
  const notes = new Map(options.checkpoint.map((file) => [file, fs.readFileSync(file, 'latin1')]));
  const [log, anchored, groups] = [options.keyLog, tasks.filter((task) => task.anchored), new Map()];
  const rooted = log === undefined || anchored.length;
  expect(rooted, '--key-log leads on from the keys of a policy or a trusted key; give one of these too');
  if (log !== undefined) expectFile(log);
  for (const task of log === undefined ? [] : anchored) { // once for each policy
    const policy = JSON.stringify([keyLogOf(task), task.tenant, task.keys]);
    groups.set(policy, [...(groups.get(policy) ?? []), task]);
  }
  for (const group of groups.values()) await followKeyLog(log, group, notes, session);
  const logs = log === undefined ? [] : tasks.map(keyLogOf);
  for (const [file, note] of notes) {
    const fit = chains.filter(({ origin }) => origin === logOf(note));
    expect(chains.length, `${file}: a checkpoint is held against a chain; give the chain too`);
    const spoken = logs.includes(logOf(note)) ? [] : chains.slice(0, 1); // of the key log it has spoken already
    for (const task of fit.length ? fit : spoken) addCheckpoint(task, file, note);
  }
}

/** Judges all that was given; gives the reports, and whether it was several things. */
async function answer(options, session) {
  const [inputs, policies] = [readInputs(options.inputs), readPolicies(options.policy)];
  const chains = chainTasks(inputs.chains, policies, options);
  const single = inputs.chains.length === 1 && !inputs.states.length && !inputs.proofs.length;
  expect(!options.follow || single, '--follow watches one chain file; give that alone');
  expect(!options.minEntries || chains.length === 1, '--min-entries counts the entries of one chain; give that alone');
  const states = inputs.states.map((given) => stateTask(given, policies, options));
  const proofs = inputs.proofs.map((file) => proofTask(file, policies, options));
  const tasks = [...chains, ...states, ...proofs];
  await addEvidence(tasks, chains, options, session);
  const places = new Map(chains.map((task) => [placeOf(task.layer, task.tenant), task]));
  for (const { files: [file], tenant } of states) {
    for (const { chain, size } of rowsOf(readState(file).entry)) {
      places.get(placeOf(LAYERS[chain], tenant))?.sizes.add(size);
    }
  }
  const judged = new Map();
  for (const [place, task] of places) judged.set(place, await judgeChain(task, session));
  const reports = [
    ...[...judged.values()].map(reportChain),
    ...states.map((task) => reportState(task, judged)),
    ...proofs.map(reportProof),
  ];
  const [strays, folders] = [listed(inputs.strays), listed(inputs.folders)];
  const used = new Set(tasks.map(({ origin }) => origin));
  const idle = listed(policies.map(({ origin }) => origin).filter((origin) => !used.has(origin)));
  const notes = [
    [strays, `These files are named after no chain and were not judged: ${strays}.`],
    [folders, `These folders were not looked into: ${folders}.`],
    [idle, `These policies are for nothing that was given: ${idle}.`],
  ].filter(([some]) => some).map(([, note]) => note);
  return { reports, notes, several: inputs.several || reports.length > 1 };
}

/** The verdict over several reports, the worst of theirs, as JSON and as a page. */
function overall(reports, notes) {
  const exit = [1, 5, 4, 8, 9, 6, 7, 3, 0].find((code) => reports.some(({ report }) => report.exit === code));
  const text = [
    ...reports.map((one) => one.text),
    'OVERALL\n',
    ...reports.map(({ name, report }) => `  ${report.verdict.padEnd(12)}exit ${report.exit}  ${name}`),
    `\nOVERALL VERDICT   ${EXITS[exit]} (exit ${exit}), ${reports.length} reports\n`,
    ...notes.map((note) => `Note: ${note}`),
    ...(notes.length ? [''] : []),
  ];
  const list = reports.map(({ name, report }) => ({ input: name, ...report }));
  return { report: { verdict: EXITS[exit], exit, reports: list, notes }, text: text.join('\n') };
}

/** Shows how far the reading is, five times a second, when a person watches. */
function showProgress(session, done, total, lines) {
  if (Date.now() < session.shownAt + POLL_MS) return;
  session.shownAt = Date.now();
  session.show(`\r${String(Math.floor((100 * done) / Math.max(total, 1))).padStart(3)} %, ${lines} lines `);
}

/** Which verifier judged: anyone can hold the digest against the file they trust. */
const banner = () => `verify.mjs ${VERSION} sha256 ${sha256(fs.readFileSync(SELF))}\n`;

/** Does what one command line asks; `tell` hears of a growing file, `show` how far reading is. Prints nothing else. */
export async function run(args, nowMs, workers = null, tell = () => {}, show = () => {}) {
  const outcome = (exit, stdout, stderr = '') => ({ exit, stdout, stderr });
  const session = { nowMs, tell, show, stopped: false, shownAt: 0 };
  try {
    const options = readOptions(args);
    if (options.help) return outcome(0, /(?<=\/\*\n)[^]*?(?=\*\/)/.exec(fs.readFileSync(SELF, 'utf8'))[0]);
    if (options.version) return outcome(0, banner());
    const { reports, notes, several } = await answer({ ...options, workers: workers ?? options.workers }, session);
    const { report, text } = several ? overall(reports, notes) : reports[0];
    return { ...outcome(report.exit, options.json ? `${JSON.stringify(report)}\n` : text), judged: true };
  } catch (error) {
    if (!(error instanceof UsageError) && !error.syscall && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
    return outcome(2, '', `verify: ${error.message.replace(/[^ -~\n]/gu, '?')}\n`); // as no terminal would obey it
  } finally {
    if (session.shownAt) show(`\r${' '.repeat(40)}\r`);
  }
}

/** Writes all of a text; false when that cannot be. */
const deliver = (stream, text) => new Promise((resolve) => {
  stream.on('error', () => resolve(false));
  try {
    stream.write(text, (error) => resolve(!error));
  } catch {
    resolve(false);
  }
});

if (!isMainThread && workerData?.receipts) {
  const { task, buffers: shared } = workerData.receipts;
  const buffers = shared.map(({ buffer }) => Buffer.from(buffer)); // they come as arrays over the same memory
  parentPort.on('message', (block) => parentPort.postMessage(judgeBlock(buffers, block, task)));
} else if (isMainThread && process.argv[1] && fs.realpathSync(process.argv[1]) === SELF) {
  const fail = (error) => deliver(process.stderr, `${error.stack}\n`).then(() => process.exit(2)); // 1 says TAMPERED
  process.on('uncaughtException', fail);
  const tell = (words) => deliver(process.stderr, words); // and whether that succeeds changes nothing
  run(process.argv.slice(2), Date.now(), null, tell, process.stderr.isTTY ? tell : undefined).then(async (outcome) => {
    await tell((outcome.judged ? banner() : '') + outcome.stderr);
    const delivered = await deliver(process.stdout, outcome.stdout);
    process.exitCode = delivered ? outcome.exit : 2;
    if (!delivered) await tell('verify: the report could not be written\n');
  });
}
