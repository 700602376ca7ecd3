// `reusePort`: several processes listen on one port, and the system deals connections to all of them. Serial: a test
// has several servers.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { posixTests } from '../support/platforms.mjs';
import { open, ownServer, worker } from '../support/server.mjs';

const options = { workerPath: worker('echo'), threads: 1, ioThreads: 1 };
const posix = posixTests(test.serial);

posix('processes that ask for it share a port', async (t) => {
  const one = await ownServer(t, { ...options, reusePort: true });
  const [bind] = one.addresses;
  const two = await ownServer(t);
  await two.start({ ...options, bind: { address: bind, reusePort: true } });
  t.deepEqual(two.addresses, [bind]);
  await until(async () => {
    const client = await open(t, one);
    client.send('hello');
    t.is(await client.text(), 'hello');
    const counts = await Promise.all([one, two].map(async (server) => (await server.call('stats')).connections));
    return counts.every((count) => count > 0);
  }, 'connections in both');
});

posix('who does not ask is refused, whoever was first', async (t) => {
  const asks = await ownServer(t, { ...options, reusePort: true });
  const other = await ownServer(t);
  await t.throwsAsync(other.start({ ...options, bind: asks.addresses[0] }), { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  const plain = await ownServer(t, options);
  await t.throwsAsync(other.start({ ...options, bind: plain.addresses[0], reusePort: true }), {
    code: 'ERR_MILLRACE_ADDRESS_IN_USE',
  });
});

test.serial('anything but true and false is refused', async (t) => {
  const server = await ownServer(t);
  const given = { ...options, reusePort: 1, bind: { address: ':0', reusePort: 'yes' } };
  const error = await t.throwsAsync(server.start(given), { message: /^invalid options/ });
  t.regex(error.message, /options\.reusePort must be true or false, not 1/);
  t.regex(error.message, /options\.bind\.reusePort must be true or false, not "yes"/);
});
