// Serves verify.mjs to the tests: one JSON request a line on stdin, one JSON answer a line on stdout.
import readline from 'node:readline';
import { diagnose, ed25519Holds, grow, readLine, rootOf, run } from '../../verifier/verify.mjs';

const bytes = (hex) => Buffer.from(hex, 'hex');

const answers = {
  run: async ({ args, nowMs, threads }) => {
    const { exit, stdout, stderr } = await run(args, nowMs, threads);
    return { exit, stdout, stderr };
  },
  ed25519: ({ key, message, signature }) => ed25519Holds(bytes(key), bytes(message), bytes(signature)),
  alone: ({ layer, lines }) =>
    lines.map(bytes).map((line) => line.toString('latin1'))
      .map((line) => (readLine(line, layer) ? 'sound' : diagnose(line, layer).join(' '))),
  root: ({ leaves }) => {
    const tree = [];
    for (const leaf of leaves) grow(tree, bytes(leaf).toString('latin1'));
    return rootOf(tree);
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { ask, ...request } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify((await answers[ask](request)) ?? null)}\n`);
}
