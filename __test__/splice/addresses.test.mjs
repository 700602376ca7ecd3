// No open relay: the hosts and addresses to which clients of splice may connect.
import test from 'ava';

import { ownServer, sharedServer } from '../support/server.mjs';
import { Mux, options, splice, Target } from '../support/splice.mjs';

/** On loopback without a list: every public host is allowed, and no address that is not public. */
const server = sharedServer(test, options({ allowedHostnames: undefined }));

const NOT_ALLOWED = { code: 4006, message: 'You are not allowed to connect to that hostname', path: 'url' };

/** The error of a connect; `undefined`: it was reached. */
async function refused(mux, url) {
  const { error, result } = await mux.ask('connect', { url, timeout: 2000 });
  if (result) await mux.call('terminate', { index: result.index });
  return error;
}

/** Spellings of 127.0.0.1, and of addresses that lead there. */
const LOOPBACK = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '017700000001',
    '0x7F.0.0.0x1',
  ],
  ...[
    '127.255.255.254',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:7f00:0001]',
  ],
  ...['[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[::127.0.0.1]', '0.0.0.0', '0', '[::]', '[::ffff:0.0.0.0]'],
];

const PRIVATE = [
  ...[
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.0.1',
    '192.0.2.1',
  ],
  ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '192.88.99.1'],
  ...[
    '[fc00::1]',
    '[fd00::1]',
    '[fe80::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[100::1]',
    '[2002:a00:1::1]',
    '[64:ff9b::a9fe:a9fe]',
  ],
];

test('special-purpose addresses are refused, however they are written', async (t) => {
  const target = await Target.listen(t);
  const mux = await Mux.open(t, server);
  for (const host of [...LOOPBACK, ...PRIVATE]) {
    t.deepEqual(await refused(mux, `ws://${host}:${target.port}/`), NOT_ALLOWED, host);
  }
  t.is(target.connections.length, 0);
});

test('a name that leads to this machine is refused', async (t) => {
  const target = await Target.listen(t);
  const mux = await Mux.open(t, server);
  for (const name of ['localhost', 'LOCALHOST', 'localhost.', 'LocalHost.']) {
    t.deepEqual(await refused(mux, target.url('/', name)), NOT_ALLOWED, name);
  }
  t.is(target.connections.length, 0);
});

test('user info does not count as the host', async (t) => {
  const target = await Target.listen(t);
  const mux = await Mux.open(t, await ownServer(t, options({ allowedHostnames: 'allowed.example' })));
  for (const userInfo of [
    'allowed.example@',
    'allowed.example:80@',
    'allowed.example%40@',
    'a@allowed.example@',
    'allowed.example#@',
  ]) {
    const error = await refused(mux, `ws://${userInfo}127.0.0.1:${target.port}/`);
    t.true([4005, 4006].includes(error?.code), userInfo);
  }
  for (const rest of ['\\@127.0.0.1', '#@127.0.0.1', '?@127.0.0.1', '/@127.0.0.1', '\t@127.0.0.1', '%00@127.0.0.1']) {
    const error = await refused(mux, `ws://allowed.example${rest}:${target.port}/`);
    t.true(error !== undefined, rest);
  }
  t.is(target.connections.length, 0);
});

test('a listed address is reached in every spelling, and no other', async (t) => {
  const target = await Target.listen(t);
  const mux = await Mux.open(t, await ownServer(t, options({ allowedHostnames: ['127.0.0.1'] })));
  for (const host of ['127.0.0.1', '127.1', '0x7f.1', '2130706433', 'user:secret@127.0.0.1']) {
    t.is(await refused(mux, target.url('/', host)), undefined, host);
  }
  for (const host of ['127.0.0.2', 'localhost', '[::1]', '10.0.0.1', 'example.com', '127.0.0.1.example.com']) {
    t.deepEqual(await refused(mux, target.url('/', host)), NOT_ALLOWED, host);
  }
});

test('localhost is reached if it is listed, whatever its case', async (t) => {
  const target = await Target.listen(t);
  const mux = await Mux.open(t, await ownServer(t, options({ allowedHostnames: 'a.example, LocalHost' })));
  for (const name of ['localhost', 'LOCALHOST', 'localhost.'])
    t.is(await refused(mux, target.url('/', name)), undefined, name);
  t.deepEqual(await refused(mux, target.url('/', '127.0.0.1')), NOT_ALLOWED);
});

test('entries may be repeated, or separated by spaces and commas', async (t) => {
  const target = await Target.listen(t);
  const lists = ['a.example 127.0.0.1', 'a.example,127.0.0.1', ['a.example', ' \t127.0.0.1,b.example\n']];
  const bind = lists.map((allowedHostnames) => splice({ allowedHostnames }));
  const own = await ownServer(t, { ...options(), bind });
  for (const address of own.addresses) {
    const mux = await Mux.open(t, own, { address });
    t.is(await refused(mux, target.url()), undefined);
    t.deepEqual(await refused(mux, target.url('/', 'c.example')), NOT_ALLOWED);
  }
});

test('privateTargets reaches this machine', async (t) => {
  const target = await Target.listen(t);
  const mux = await Mux.open(t, await ownServer(t, options({ allowedHostnames: undefined, privateTargets: true })));
  for (const host of ['127.0.0.1', 'localhost']) t.is(await refused(mux, target.url('/', host)), undefined, host);
});

test('without a list and with anyTarget: false, nothing is reached', async (t) => {
  const target = await Target.listen(t);
  const listener = { allowedHostnames: [], anyTarget: false, privateTargets: true };
  const mux = await Mux.open(t, await ownServer(t, options(listener)));
  t.deepEqual(await refused(mux, target.url()), NOT_ALLOWED);
});

test('a listener that other machines can reach needs a list or anyTarget', async (t) => {
  const target = await Target.listen(t);
  const listeners = [
    [{ allowedHostnames: '127.0.0.1' }, undefined],
    [{ anyTarget: true, privateTargets: true, allowedHostnames: undefined }, undefined],
    [{ privateTargets: true, allowedHostnames: undefined }, NOT_ALLOWED],
  ];
  const bind = listeners.map(([more]) => splice({ address: '0.0.0.0:0', ...more }));
  const own = await ownServer(t, { ...options(), bind });
  for (const [index, [, expected]] of listeners.entries()) {
    const { port } = new URL(`ws://${own.addresses[index]}`);
    const mux = await Mux.open(t, own, { address: `127.0.0.1:${port}` });
    t.deepEqual(await refused(mux, target.url()), expected);
  }
});
