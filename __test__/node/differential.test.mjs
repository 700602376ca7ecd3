// Small programs over all of Express 5 and the middlewares of npm: a client gets the same bytes from each on
// `node:http` and through `nodeHandler`, except for Date, Server, Connection and Keep-Alive.
import test from 'ava';

import { reference, run } from '../support/node-pair.mjs';
import { listenerOf, PROGRAMS } from '../support/node-programs/index.mjs';
import { sharedServer, worker } from '../support/server.mjs';

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
      t.deepEqual(answers[index], expected[index], `${index}: ${line}`);
    }
  });
}
