// Serves verify.mjs to the tests: one JSON request a line on stdin, one JSON answer a line on stdout. A request may name
// another `file`, a changed copy of the verifier. What the verifier throws is answered as `error`.
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const VERIFIER = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../verifier/verify.mjs');
const bytes = (hex) => Buffer.from(hex, 'hex');

const answers = {
  run: async ({ run }, { args, nowMs, threads }) => {
    const { exit, stdout, stderr } = await run(args, nowMs, threads);
    return { exit, stdout, stderr };
  },
  runs: async ({ run }, { lists, nowMs }) => {
    const outcomes = [];
    for (const args of lists) {
      const began = performance.now();
      const { exit, stdout, stderr } = await run(args, nowMs, null);
      outcomes.push({ exit, stdout, stderr, ms: Math.round(performance.now() - began) });
    }
    return outcomes;
  },
  ed25519: ({ ed25519Holds }, { key, message, signature }) => ed25519Holds(bytes(key), bytes(message), bytes(signature)),
  alone: ({ readLine, diagnose }, { layer, lines }) =>
    lines.map(bytes).map((line) => line.toString('latin1'))
      .map((line) => (readLine(line, layer) ? 'sound' : diagnose(line, layer).join(' '))),
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
