#!/usr/bin/env node
/*
verify.mjs: verify a receipt chain offline, with one file and no trust in whoever wrote the chain.

  node verify.mjs CHAIN [COPY] [options]          COPY is another copy of the chain; where they differ is a fork

  --policy FILE         origin and trusted keys, from outside the chain; without a trusted key nothing passes
  --trusted-key BASE64  an entry key to trust; may be repeated
  --checkpoint FILE     a signed tree head the chain must meet; may be repeated
  --min-entries N       TRUNCATED below so many
  --max-age AGE         STALE when no checkpoint is as new as 90m, 24h, 7d
  --level chain|full    chain leaves the signatures out; full is the default
  --layer L1...L12      when no policy tells it
  --json                print one JSON object
  --version, --help

Needs Node 18.3 and nothing else. verify.py is the same verifier for Python, written separately from the same norm,
docs/receipt-format.md, whose rules are cited as RF-n. Both print the same report, byte for byte, or one is wrong.
*/
// From top to bottom: the grammar of a line, why a line is not of it, Ed25519, the seven checks of an entry, blocks of
// lines judged in parallel, the evidence from outside, the verdict and its report, the command line.
// Bytes travel as latin1 strings, one character a byte, so that patterns, slices and offsets mean bytes.
import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';
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
const [BLOCK_BYTES, PARALLEL_BYTES] = [1 << 18, 4 << 20]; // a smaller file is judged before workers would have started
const MAX_KEYS_LISTED = 64; // a hostile chain may carry a key an entry; memory stays flat

// --- Grammar (RF-1 to RF-9, RF-11): all members in order; only the newest form has what stands in <>; as in verify.py.

const SCHEMAS = `
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

/** The milliseconds since 1970 of an instant; NaN for the 30th of February and for 25 o'clock (RF-9). */
function msOf(instant) {
  const ms = Date.parse(instant);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === instant ? ms : NaN;
}

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

/**
 * Whether the bytes are one canonical JSON value, at most 32 deep (RF-2 to RF-5). Strings are emptied first, so that
 * brackets inside them mislead nobody; then the innermost arrays and objects fold into `null` until a scalar is left.
 * Repeated and misplaced members pass here: the schema refuses them.
 */
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
const keyObjects = new Map(); // OpenSSL's form of the keys seen last

/** Whether 32 bytes can stand for a point: y canonical and not of low order. */
function isPoint(bytes) {
  const y = littleEndian(bytes) & (2n ** 255n - 1n);
  return y < P && !LOW_ORDER_Y.includes(y);
}

/** Whether a signature verifies: lengths, A and R canonical and not of low order, S < L, then the equation. */
export function ed25519Holds(key, message, signature) {
  if (key.length !== 32 || signature.length !== 64 || littleEndian(signature.subarray(32)) >= L) return false;
  if (!isPoint(key) || !isPoint(signature.subarray(0, 32))) return false;
  const name = key.toString('latin1');
  if (keyObjects.size > MAX_KEYS_LISTED) keyObjects.clear();
  if (!keyObjects.has(name)) {
    keyObjects.set(name, createPublicKey({ key: Buffer.concat([SPKI, key]), format: 'der', type: 'spki' }));
  }
  return verifySignature(null, message, keyObjects.get(name), signature);
}

// --- Checks (RF-20), in the norm's order. `before` is the entry of the line before, null when that is malformed.

/** SHA-256 of bytes, in a buffer or a latin1 string, as hex or as such a string. */
const sha256 = (bytes, encoding = 'hex') => createHash('sha256').update(bytes, 'latin1').digest(encoding);
const bytesOf = (base64) => Buffer.from(base64, 'base64');

/** Whether a key of the policy is for that use, at that id or size of a checkpoint (RF-18). */
const maySign = (key, use, id) => key.use === use && key.fromId <= id && (key.toId === null || id <= key.toId);

/** The imagined entry before id 1 (RF-10); without an origin its hash is unknown. */
const genesis = (origin) => ({ id: 0, ms: 0, hash: origin && sha256(`prometheus-receipts genesis v1\n${origin}\n`) });

/** Whether a signature holds over DSSE's PAE of a type and a body; key and signature in base64 (RF-12). */
function paeHolds(type, body, key, signature) {
  const message = Buffer.from(`DSSEv1 ${type.length} ${type} ${body.length} ${body}`, 'latin1');
  return ed25519Holds(bytesOf(key), message, bytesOf(signature));
}

const KEY_EVENT = 'application/vnd.prometheus.key-event+json;layer=L3;form=v2';

/** Whether the attestation holds, which binds layer, form, time and body; in a key event those of its keys too. */
function isSigned({ key, signature, form, signed, body }, layer) {
  const type = `application/vnd.prometheus.receipt+json;layer=${layer};form=${form};signedAt=${signed}`;
  if (!paeHolds(type, body, key, signature)) return false;
  const event = layer === 'L3' ? JSON.parse(body) : {};
  const said = `${body.split(/,"(?:previous|public)KeySignature":"/, 1)[0]}}`;
  const named = [[event.previousKey, event.previousKeySignature], [event.publicKey, event.publicKeySignature]];
  return named.every(([by, signature]) => !signature || paeHolds(KEY_EVENT, said, by, signature));
}

const CHECKS = {
  id: (entry, before) => !before || entry.id === before.id + 1, // RF-10: ids count from 1 without gaps
  link: (entry, before) => !before?.hash || entry.link === before.hash, // RF-10: to the entry before, or to the origin
  tenant: (entry, _, request) => entry.tenant === request.tenant, // RF-10: the origin's, in every entry or in none
  hash: (entry) => entry.hash === sha256(entry.body), // RF-7: of the body as stored
  time: (entry, before) => !before || entry.ms >= before.ms, // RF-9: recordedAtMs never decreases
  key: ({ key, id }, _, { keys }) => // RF-19: from outside, for entries, at this id; without any UNANCHORED says so
    !keys.length || keys.some((trusted) => trusted.publicKey === key && maySign(trusted, 'entry', id)),
  signature: (entry, _, request) => !request.full || isSigned(entry, request.layer), // RF-12; not on level chain
};

// --- Blocks: the file flows through, never whole in memory. Workers judge blocks, this thread joins the findings.

const node = (left, right) => sha256(`\x01${left}${right}`, 'latin1');

/**
 * Adds a leaf or subtree to the complete subtrees, `[height, hash]` from left to right, of an RFC 6962 tree (RF-16).
 * `end` is where a block's subtree ends among all leaves: only what begins aligned there may be paired.
 */
export function grow(tree, hash, height = 0, end = 0) {
  for (; tree.at(-1)?.[0] === height && end % 2 ** (height + 1) === 0; height += 1) hash = node(tree.pop()[1], hash);
  tree.push([height, hash]);
}

/** The root, as hex; that of no leaves is the hash of nothing (RF-16). */
export function rootOf(tree) {
  const hashes = tree.length ? tree.map(([, hash]) => hash) : [sha256('', 'latin1')];
  return Buffer.from(hashes.reduceRight((right, left) => node(left, right)), 'latin1').toString('hex');
}

/** What lines showed: those of a block, or of the whole file once its blocks are joined. */
const noFindings = () => ({
  bad: null, first: null, last: null, entries: 0, faults: {}, keys: {}, lines: 0, tree: [], fileBytes: 0, tornBytes: 0,
  met: { 0: { tree: [], ms: 0 } }, // tree and time at the sizes asked for
});
const count = (counts, name, more = 1) => { counts[name] = (counts[name] ?? 0) + more; };

/** Judges a block of whole lines, the first of them the line before the block unless that is line 1; in any thread. */
function judgeBlock(buffers, { number, offset, turn, end }, request) {
  const [found, lines] = [noFindings(), buffers[turn].latin1Slice(0, end).split('\n').slice(0, -1)];
  let entry = number === 1 ? genesis(request.origin) : readLine(lines.shift(), request.layer);
  for (const line of lines) {
    const before = entry;
    entry = readLine(line, request.layer);
    const [name, ...failed] = entry ? [entry.id === before?.id ? 'FORKED' : 'TAMPERED'] : diagnose(line, request.layer);
    if (entry) {
      for (const check in CHECKS) if (!CHECKS[check](entry, before, request)) failed.push(check);
      [found.first, found.last] = [found.first ?? entry, entry];
      found.entries += 1;
      count(found.keys, entry.key);
    }
    for (const check of failed) count(found.faults, check);
    if (failed.length) found.bad ??= { name, id: entry?.id ?? number, check: failed[0], offset };
    grow(found.tree, sha256(`\x00${line}`, 'latin1'), 0, number);
    if (request.sizes.has(number)) found.met[number] = { tree: [...found.tree], ms: entry?.ms ?? 0 };
    [number, offset] = [number + 1, offset + line.length + 1];
  }
  found.lines = lines.length;
  return found;
}

/** Adds what the next block of the file showed. */
function join(found, block) {
  const joined = (subtrees) => {
    const tree = [...found.tree];
    for (const [height, hash] of subtrees) grow(tree, hash, height);
    return tree;
  };
  for (const [size, { tree, ms }] of Object.entries(block.met)) found.met[size] ??= { tree: joined(tree), ms };
  for (const [key, n] of Object.entries(block.keys)) {
    if (key in found.keys || Object.keys(found.keys).length < MAX_KEYS_LISTED) count(found.keys, key, n);
  }
  for (const [check, n] of Object.entries(block.faults)) count(found.faults, check, n);
  found.tree = joined(block.tree);
  found.lines += block.lines;
  found.entries += block.entries;
  found.bad ??= block.bad;
  found.first ??= block.first;
  found.last = block.last ?? found.last;
}

const BREAK = 0x0a; // the only line break (RF-1)

/**
 * Cuts a file into blocks of whole lines and notes its size and torn tail. A block stands in the next of the buffers,
 * up to `end`, and begins with the line before it, which its first link is held against.
 */
function* readBlocks(chain, found = noFindings(), buffers = [Buffer.allocUnsafe(BLOCK_BYTES)]) {
  const file = fs.openSync(chain);
  let [number, offset, before, fill, turn] = [1, 0, 0, 0, 0]; // `before`: bytes of the line before, its break included
  try {
    for (let buffer = buffers[0]; ;) {
      const size = fs.readSync(file, buffer, fill, BLOCK_BYTES - fill, null);
      if (!size) break;
      [found.fileBytes, fill] = [found.fileBytes + size, fill + size];
      const end = Math.max(before, buffer.subarray(0, fill).lastIndexOf(BREAK) + 1);
      if (end > before) {
        yield { number, offset, turn, end };
        for (let at = before; at < end; number += 1) at = buffer.indexOf(BREAK, at) + 1;
        offset = found.fileBytes - (fill - end);
      }
      // More of an endless line would not change how it is judged, here and below.
      fill = Math.min(fill, end + MAX_LINE_BYTES + 1);
      if (end > before) {
        const start = Math.max(buffer.subarray(0, end - 1).lastIndexOf(BREAK) + 1, end - MAX_LINE_BYTES - 2);
        turn = (turn + 1) % buffers.length;
        buffer.copy(buffers[turn], 0, start, fill);
        [buffer, before, fill] = [buffers[turn], end - start, fill - start];
      }
    }
    found.tornBytes = found.fileBytes - offset;
  } finally {
    fs.closeSync(file);
  }
}
/** Starts a thread that judges blocks in the order in which it is given them. */
function startWorker(workerData) {
  const worker = new Worker(SELF, { workerData, resourceLimits: { maxYoungGenerationSizeMb: 4 } }); // stay small
  const waiting = [];
  worker.on('message', (judged) => waiting.shift()(judged));
  const judge = (block) => new Promise((resolve) => { waiting.push(resolve); worker.postMessage(block); });
  return { judge, stop: () => worker.terminate() };
}

/** Reads and judges one chain file, in several threads when it is big; throws when it cannot be read. */
async function examine(chain, request) {
  const [found, window] = [noFindings(), []];
  const threads = request.threads ?? (fs.statSync(chain).size < PARALLEL_BYTES ? 1 : os.cpus().length);
  const newBuffer = () => Buffer.from(new SharedArrayBuffer(BLOCK_BYTES));
  const buffers = Array.from({ length: threads > 1 ? 2 * threads : 1 }, newBuffer); // a worker judges one, one waits
  const start = () => startWorker({ receipts: { request, shared: buffers.map(({ buffer }) => buffer) } });
  const pool = threads > 1 ? Array.from({ length: threads }, start) : [];
  for (const block of readBlocks(chain, found, buffers)) {
    window.push(pool.length ? pool[block.turn % threads].judge(block) : judgeBlock(buffers, block, request));
    if (window.length === buffers.length) join(found, await window.shift()); // frees the buffer that is filled next
  }
  for (const judged of window) join(found, await judged);
  pool.forEach((worker) => worker.stop());
  return found;
}

/** The lines of a file, in blocks. */
function* readLines(chain) {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  for (const { number, end } of readBlocks(chain, noFindings(), [buffer])) {
    const lines = buffer.latin1Slice(0, end).split('\n').slice(number === 1 ? 0 : 1, -1);
    yield { number, lines };
  }
}

/** The id at which two sound copies first differ; null when they agree as far as both go. */
function findFork(chain, copy) {
  const twins = readLines(copy);
  for (const { number, lines } of readLines(chain)) {
    const others = twins.next().value?.lines ?? [];
    const at = lines.findIndex((line, i) => i < others.length && line !== others[i]);
    if (at >= 0) return twins.return(number + at).value;
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

/** Reads a policy's origin, chain, tenant and keys; throws UsageError for anything but exactly a policy. */
function readPolicy(file) {
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
  if (quorum !== '0') throw new UsageError(`${file}: ${POLICY_FORM}`);
  return { origin, chain, tenant, keys };
}

/** Reads size and root of a checkpoint that a key of the policy signed for its origin (RF-17); else UsageError. */
function readCheckpoint(file, { origin, keys }) {
  const [, text, log, size, root, lines] = NOTE.exec(fs.readFileSync(file, 'latin1')) ?? [];
  if (!text || log !== origin) {
    throw new UsageError(`${file}: it is not a signed checkpoint of ${origin || 'a log that a policy names'}`);
  }
  const ours = lines.split('\n').map((line) => line.split(' ')).filter(([, name]) => name === log);
  const holds = keys.filter((key) => maySign(key, 'checkpoint', Math.max(Number(size), 1))).flatMap(({ publicKey }) => {
    const key = bytesOf(publicKey);
    const id = sha256(Buffer.concat([Buffer.from(`${log}\n\x01`), key])).slice(0, 8);
    const blobs = ours.map(([, , blob]) => bytesOf(blob)).filter((blob) => blob.toString('hex', 0, 4) === id);
    return blobs.map((blob) => ed25519Holds(key, Buffer.from(text, 'latin1'), blob.subarray(4)));
  });
  const signed = holds.length && holds.every(Boolean);
  if (!signed) throw new UsageError(`${file}: no checkpoint key of the policy signed it`);
  return { size: Number(size), root: bytesOf(root).toString('hex') };
}

// --- Verdict (RF-22): the earliest bad line of the first copy that has one; else the first that applies of the table.

/** Takes layer and tenant from the first line that can be read, where neither policy nor option gave them. */
function settle(request) {
  for (const chain of request.origin ? [] : request.chains) {
    for (const { lines } of readLines(chain)) {
      for (const line of lines) {
        const layer = (request.layer ? [request.layer] : Object.keys(GRAMMARS)).find((name) => readLine(line, name));
        if (layer) return { ...request, layer, tenant: readLine(line, layer).tenant };
      }
    }
  }
  return request;
}

/** Whether the chain reaches a checkpoint's size and every copy that does has its root there (RF-17). */
const meets = (copies, { size, root }) =>
  size in copies[0].met && copies.every((copy) => !copy.met[size] || rootOf(copy.met[size].tree) === root);

/** The first verdict that applies. */
function decide(request, copies, fork, nowMs) {
  const [chain, torn] = [copies[0], copies.find((copy) => copy.tornBytes)];
  const newest = Math.max(0, ...request.checkpoints.map(({ size }) => size));
  const fresh = request.maxAgeMs === null || (newest && nowMs - (chain.met[newest]?.ms ?? 0) <= request.maxAgeMs);
  const verdict = (name, check = null, id = null, offset = null) => ({ name, id, check, offset });
  const bad = copies.find((copy) => copy.bad)?.bad;
  if (bad) return bad;
  if (!request.keys.length) return verdict('UNANCHORED');
  if (newest > chain.lines) return verdict('TRUNCATED', 'checkpoint');
  if (request.minEntries > chain.lines) return verdict('TRUNCATED', 'min-entries');
  if (!request.checkpoints.every((signed) => meets(copies, signed))) return verdict('FORKED', 'checkpoint');
  if (fork) return verdict('FORKED', 'copies', fork);
  if (torn) return verdict('TORN_TAIL', 'framing', null, torn.fileBytes - torn.tornBytes);
  return fresh ? verdict('PASS') : verdict('STALE', 'max-age');
}

// --- Report: numbers, hashes, times and words of this file, never an entry's text, so that no terminal obeys it.

const LABELS = {
  id: 'Ids contiguous', link: 'Hash chain', tenant: 'One tenant', hash: 'Body hashes', time: 'Timestamps',
  key: 'Trust anchor', signature: 'Signatures',
};

const entryKeys = (request) => request.keys.filter(({ use }) => use === 'entry').map(({ publicKey }) => publicKey);

/** The report's members; head and root are null when a bad line leaves them without meaning. */
function summarise(request, copies, fork, { name, id, check, offset }) {
  const [[chain, copy], sound] = [copies, !copies.some(({ bad }) => bad)];
  const listed = new Set([...entryKeys(request), ...Object.keys(chain.keys)]);
  const compared = !sound ? 'not compared' : fork ? `they differ at id ${fork}` : 'they agree';
  return {
    verdict: name, exit: EXITS.indexOf(name), id, check, offset,
    entries: chain.entries,
    signatures: request.full ? chain.entries - (chain.faults.signature ?? 0) : 0,
    headHash: (sound && chain.last?.hash) || null,
    rootHash: sound ? rootOf(chain.tree) : null,
    earliest: chain.first?.iso ?? null,
    latest: chain.last?.iso ?? null,
    keys: [...listed].map((key) => ({ fingerprint: sha256(bytesOf(key)), entries: chain.keys[key] ?? 0 })),
    checkpoints: request.checkpoints.map((signed) => ({ size: signed.size, ok: sound ? meets(copies, signed) : null })),
    anchor: null,
    notes: [
      !request.keys.length && 'No key was given from outside: anyone can write a chain that carries its own key.',
      !request.origin && 'No policy named the origin: the first link was not held against a genesis hash.',
      !request.checkpoints.length && 'No checkpoint was given: entries cut from the end cannot be seen.',
      !request.full && 'Level chain does not check signatures: a forged one passes unseen.',
      chain.tornBytes && `${chain.tornBytes} bytes after the last line break are a torn tail, not judged.`,
      copy && `The second copy has ${copy.lines} lines, ${copy.bad ? 'some bad' : 'none bad'}; ${compared}.`,
    ].filter(Boolean),
  };
}

/** Lays the report out for a person. */
function page(request, chain, report) {
  const [n, faults, trusted] = [chain.entries, chain.faults, new Set(entryKeys(request)).size];
  const skipped = [request.keys.length || 'key', request.full || 'signature'];
  const words = { true: 'ok    ', false: 'FAIL  ', null: '-     ' };
  const met = { true: 'met', false: 'not met', null: 'not compared' };
  const told = ['id', 'check', 'offset'].filter((name) => report[name] !== null);
  const where = told.map((name) => `, ${name} ${report[name]}`).join('');
  return [
    'RECEIPT CHAIN VERIFICATION\n',
    `Chain file        ${path.basename(request.chains[0]).replace(/[^ -~]/gu, '?')}, ${chain.fileBytes} bytes`,
    `Origin            ${request.origin || 'not given'}`,
    `Layer, tenant     ${request.layer || 'not known'}, ${request.tenant}`,
    `Level             ${request.full ? 'full' : 'chain'}\n`,
    `Entries           ok    ${n}`,
    `Malformed lines   ${words[chain.lines === n]}${chain.lines - n}`,
    ...Object.entries(LABELS).map(([check, label]) => label.padEnd(18) + (skipped.includes(check) ? '-     not checked'
      : `${words[!faults[check]]}${n - (faults[check] ?? 0)}/${n}`)),
    ...report.keys.map((key, i) => // the trusted are listed first
      `  key ${key.fingerprint} ${i < trusted ? 'trusted' : 'not trusted'}, ${key.entries} entries`),
    ...report.checkpoints.map(({ size, ok }) => `Checkpoint        ${words[ok]}size ${size}, ${met[ok]}`),
    ...(report.checkpoints.length ? [] : ['Checkpoints       -     none given, so a cut tail cannot be seen']),
    'Anchor age        -     no anchor given\n',
    `Head hash         ${report.headHash ?? 'none'}`,
    `Root hash         ${report.rootHash ?? 'none'}`,
    `Earliest          ${report.earliest ?? 'none'}`,
    `Latest            ${report.latest ?? 'none'}\n`,
    `VERDICT           ${report.verdict} (exit ${report.exit})${where}\n`,
    ...report.notes.map((note) => `Note: ${note}`),
    'What a PASS does not prove: that a record is true, that every act was recorded, that the clock was right',
    'before the first anchor, or (without a checkpoint) that nothing was cut from the end.\n',
  ].join('\n');
}

// --- Command line.

const [COUNTS, AGES] = [/^[0-9]{1,15}$/, /^([0-9]{1,15})([smhd])$/];
const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const OPTIONS = Object.fromEntries([
  ...['policy', 'min-entries', 'max-age', 'level', 'layer'].map((name) => [name, { type: 'string' }]),
  ...['trusted-key', 'checkpoint'].map((name) => [name, { type: 'string', multiple: true }]),
  ...['json', 'version', 'help'].map((name) => [name, { type: 'boolean' }]),
]);

/** Reads the files the command line names; throws UsageError, or the system's error when one cannot be read. */
function readRequest(given, chains, threads) {
  const expect = (holds, sentence) => { if (!holds) throw new UsageError(sentence); };
  const { level = 'full', layer: asked, 'min-entries': least = '0', 'max-age': age = '0s' } = given;
  const { 'trusted-key': more = [], checkpoint: files = [] } = given;
  expect(chains.length === 1 || chains.length === 2, 'give one chain file or two copies of it');
  expect(['chain', 'full'].includes(level), `--level is chain or full; ${level} is not known to this version`);
  const known = Object.keys(GRAMMARS);
  expect(asked === undefined || known.includes(asked), `--layer is one of ${known.join(' ')}, not ${asked}`);
  expect(COUNTS.test(least), `--min-entries takes a whole number, not ${least}`);
  expect(AGES.test(age), `--max-age takes a number and s, m, h or d, such as 24h, not ${age}`);
  expect(more.every((key) => new RegExp(`^${BASE64_32}$`).test(key)), '--trusted-key takes the base64 of 32 bytes');
  const { origin = '', chain, tenant = '-', keys = [] } = given.policy === undefined ? {} : readPolicy(given.policy);
  const layer = origin ? LAYERS[chain] : asked ?? '';
  const fits = !origin || (layer && [layer, undefined].includes(asked));
  expect(fits, `the policy is for the chain ${chain}, not for ${asked ?? 'one this version knows'}`);
  keys.push(...more.map((publicKey) => ({ publicKey, use: 'entry', fromId: 1, toId: null })));
  const checkpoints = files.map((file) => readCheckpoint(file, { origin, keys }));
  const [, span, unit] = AGES.exec(age);
  const maxAgeMs = given['max-age'] === undefined ? null : span * UNITS[unit];
  const full = level === 'full';
  return { chains, layer, tenant, origin, keys, checkpoints, full, minEntries: Number(least), maxAgeMs, threads };
}

/** Does what one command line asks for, and prints nothing; gives the exit code and what to print. */
export async function run(args, nowMs, threads = null) {
  const outcome = (exit, stdout, stderr = '', judged = false) => ({ exit, stdout, stderr, judged });
  try {
    const { values: given, positionals: chains } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    if (given.help) return outcome(0, /(?<=\/\*\n)[^]*?(?=\*\/)/.exec(fs.readFileSync(SELF, 'utf8'))[0]);
    if (given.version) return outcome(0, banner());
    const request = settle(readRequest(given, chains, threads));
    request.sizes = new Set(request.checkpoints.map(({ size }) => size));
    const copies = [];
    for (const chain of chains) copies.push(await examine(chain, request));
    const fork = chains.length > 1 ? findFork(...chains) : null;
    const report = summarise(request, copies, fork, decide(request, copies, fork, nowMs));
    const text = given.json ? `${JSON.stringify(report)}\n` : page(request, copies[0], report);
    return outcome(report.exit, text, '', true);
  } catch (error) {
    if (!(error instanceof UsageError) && !error.syscall && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
    return outcome(2, '', `verify: ${error.message}\n`);
  }
}

/** Which verifier judged: anyone can hold the digest against the file they trust. */
const banner = () => `verify.mjs ${VERSION} sha256 ${sha256(fs.readFileSync(SELF))}\n`;

if (!isMainThread && workerData?.receipts) {
  const { request, shared } = workerData.receipts;
  const buffers = shared.map((memory) => Buffer.from(memory));
  parentPort.on('message', (block) => parentPort.postMessage(judgeBlock(buffers, block, request)));
} else if (isMainThread && process.argv[1] && fs.realpathSync(process.argv[1]) === SELF) {
  process.on('uncaughtException', (error) => { console.error(error); process.exit(2); }); // 1 would say TAMPERED
  const outcome = await run(process.argv.slice(2), Date.now());
  process.stderr.write((outcome.judged ? banner() : '') + outcome.stderr);
  process.stdout.write(outcome.stdout);
  process.exitCode = outcome.exit;
}
