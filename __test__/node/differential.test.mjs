// Small programs over all of Express 5 and the middlewares of npm: a client gets the same bytes from each on
// `node:http` and through `nodeHandler`, except for Date, Server, Connection and Keep-Alive.
import test from 'ava';

import { reference, run } from '../support/node-pair.mjs';
import { listenerOf, PROGRAMS } from '../support/node-programs/index.mjs';
import { RUNTIME, sharedServer, worker } from '../support/server.mjs';

/** Of these programs' answers only the status is the same, because of what docs/node-handler.md lists. */
const DIFFERENT = {
  node: /^$/,
  bun: /^((stacks|plain|events|jsonBodies) \d+|rawAnswers [23]|swagger [34])$/,
  deno: /^((stacks|plain|events) \d+|rawAnswers [23]|morganLines 5|swagger [34])$/,
}[RUNTIME];
/** Deno's own error. */
const FAILS = { deno: 'headers 4' }[RUNTIME];

const gateway = sharedServer(test, { workerPath: worker('node-programs'), threads: 1 });
const plain = reference(test, () => listenerOf(PROGRAMS));

test('there are forty programs', (t) => {
  t.true(Object.keys(PROGRAMS).length >= 40);
});

for (const [name, program] of Object.entries(PROGRAMS)) {
  test(name, async (t) => {
    const [expected, answers] = await Promise.all([
      run(plain.address, name, program),
      run(gateway.addresses[0], name, program),
    ]);
    for (const [index, [line]] of program.requests.entries()) {
      const which = `${name} ${index}`;
      if (which === FAILS) t.is(answers[index].status, 500);
      else if (DIFFERENT.test(which)) t.is(answers[index].status, expected[index].status, `${index}: ${line}`);
      else t.deepEqual(answers[index], expected[index], `${index}: ${line}`);
    }
  });
}
