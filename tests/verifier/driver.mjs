// Serves verify.mjs to the tests: one JSON request a line on stdin, one JSON answer a line on stdout. A request may name
// another `file`, a changed copy of the verifier. What the verifier throws is answered as `error`.
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const VERIFIER = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../verifier/verify.mjs');
const bytes = (hex) => Buffer.from(hex, 'hex');

/** Seconds of processor time, of all threads, since a reading of the clock. */
function spent(since) {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

const answers = {
  run: async ({ run }, { args, nowMs, threads }) => {
    const { exit, stdout, stderr } = await run(args, nowMs, threads);
    return { exit, stdout, stderr };
  },
  runs: async ({ run }, { lists, nowMs }) => {
    const outcomes = [];
    for (const args of lists) {
      const began = process.cpuUsage();
      const { exit, stdout, stderr } = await run(args, nowMs, null);
      outcomes.push({ exit, stdout, stderr, seconds: spent(began) });
    }
    return outcomes;
  },
  ed25519: ({ ed25519Holds }, { key, message, signature }) => ed25519Holds(bytes(key), bytes(message), bytes(signature)),
  alone: ({ readLine, diagnose }, { layer, lines }) => {
    const [judged, times] = [[], []];
    for (const line of lines.map((hex) => bytes(hex).toString('latin1'))) {
      const began = process.cpuUsage();
      judged.push(readLine(line, layer) ? 'sound' : diagnose(line, layer).join(' '));
      times.push(spent(began));
    }
    return { judged, longest: Math.max(...times) };
  },
  root: ({ grow, rootOf }, { leaves }) => {
    const tree = [];
    for (const leaf of leaves) grow(tree, bytes(leaf).toString('latin1'));
    return rootOf(tree);
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { ask, file = VERIFIER, ...request } = JSON.parse(line);
  let answer;
  try {
    answer = (await answers[ask](await import(pathToFileURL(file).href), request)) ?? null;
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
