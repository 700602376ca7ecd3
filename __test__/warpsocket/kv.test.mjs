// specs/warpsocket.md §4.10: the key/value store.
import test from 'ava';

import { ask, callIn, member, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 2 });
const get = async (key) => (await server.call('getKey', key))?.toString();
const set = async (key, ...value) => (await server.call('setKey', key, ...value))?.toString();
const setIf = (key, ...values) => server.call('setKeyIf', key, ...values);
let keys = 0;
const freshKey = () => `key ${++keys}`;

test('setKey returns the previous value, getKey the current one', async (t) => {
  const key = freshKey();
  t.is(await get(key), undefined);
  t.is(await set(key, 'one'), undefined);
  t.is(await get(key), 'one');
  t.is(await set(key, 'two'), 'one');
  t.is(await get(key), 'two');
});

test('setKey without a value deletes the key', async (t) => {
  const key = freshKey();
  await set(key, 'one');
  t.is(await set(key, undefined), 'one');
  t.is(await get(key), undefined);
  t.is(await set(key), undefined);
});

test('keys and values are bytes', async (t) => {
  const key = `${freshKey()} ñ€`;
  const bytes = new TextEncoder().encode(key);
  await set(bytes, Uint8Array.from([0, 255, 128]));
  t.deepEqual(await server.call('getKey', key), Buffer.from([0, 255, 128]));
  t.deepEqual(await server.call('getKey', bytes.buffer), Buffer.from([0, 255, 128]));
  await set(Buffer.from([0xff, 0x00]), Uint8Array.from([7, 8, 9]).subarray(1));
  t.deepEqual(await server.call('getKey', Buffer.from([0xff, 0x00])), Buffer.from([8, 9]));
});

test('the empty key and the empty value are valid', async (t) => {
  t.is(await get(''), undefined);
  await set('', 'empty key');
  t.is(await get(Buffer.alloc(0)), 'empty key');
  t.is(await set('', undefined), 'empty key');
  const key = freshKey();
  await set(key, '');
  t.is(await get(key), '');
  t.true(await setIf(key, 'filled', ''));
  t.is(await get(key), 'filled');
});

test('getKey returns a copy', async (t) => {
  t.is(await server.run('key-copy', freshKey()), 'original');
});

test('a large value is stored and returned', async (t) => {
  const key = freshKey();
  const value = Buffer.alloc(3 * 1024 * 1024, 'abc');
  await server.call('setKey', key, value);
  t.true(value.equals(await server.call('getKey', key)));
});

test('all threads share the store', async (t) => {
  const [one, two] = [await member(t, server), await member(t, server)];
  const key = freshKey();
  await ask(one, { cmd: 'kvSet', key, value: 'from one' });
  t.is((await ask(two, { cmd: 'kvGet', key })).toString(), 'from one');
  t.is(await get(key), 'from one');
  t.true(await ask(two, { cmd: 'kvSetIf', key, value: 'from two', check: 'from one' }));
  t.is((await ask(one, { cmd: 'kvSet', key, value: 'again' })).toString(), 'from two');
});

const TABLE = [
  // [current value, newValue, checkValue, result, value afterwards]
  [undefined, 'new', undefined, true, 'new'],
  [undefined, undefined, undefined, true, undefined],
  [undefined, 'new', 'x', false, undefined],
  [undefined, undefined, 'x', false, undefined],
  ['old', 'new', undefined, false, 'old'],
  ['old', undefined, undefined, false, 'old'],
  ['old', 'new', 'old', true, 'new'],
  ['old', undefined, 'old', true, undefined],
  ['old', 'new', 'other', false, 'old'],
  ['old', undefined, 'other', false, 'old'],
  ['old', 'new', 'ol', false, 'old'],
  ['old', 'new', 'oldx', false, 'old'],
  ['old', 'new', '', false, 'old'],
  ['', 'new', '', true, 'new'],
  ['', 'new', undefined, false, ''],
];

for (const [present, newValue, checkValue, result, after] of TABLE) {
  test(`setKeyIf: current ${JSON.stringify(present)}, new ${JSON.stringify(newValue)}, check ${JSON.stringify(checkValue)}: ${result}`, async (t) => {
    const key = freshKey();
    if (present !== undefined) await set(key, present);
    t.is(await setIf(key, newValue, checkValue), result);
    t.is(await get(key), after);
  });
}

test('setKeyIf compares bytes, whatever their type', async (t) => {
  const key = freshKey();
  await set(key, 'é');
  t.true(await setIf(key, 'next', new TextEncoder().encode('é').buffer));
});

test('setKeyIf is atomic: no increment of several threads is lost', async (t) => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => member(t, server)));
  const key = freshKey();
  await set(key, '0');
  const increment = async (ws) => {
    for (let done = 0; done < 50; ) {
      const before = await callIn(ws, 'getKey', key);
      if (await callIn(ws, 'setKeyIf', key, String(Number(before.toString()) + 1), before)) done++;
    }
  };
  await Promise.all(clients.map(increment));
  t.is(await get(key), '200');
});

for (const bad of [null, 5, {}, [], true, 5n, Symbol('x'), new SharedArrayBuffer(4)]) {
  test(`a key or value that is not bytes throws: ${Object.prototype.toString.call(bad)}`, async (t) => {
    const key = freshKey();
    await set(key, 'kept');
    await t.throwsAsync(server.call('getKey', bad), { name: 'TypeError', message: /key/ });
    await t.throwsAsync(server.call('setKey', bad, 'x'), { name: 'TypeError', message: /key/ });
    await t.throwsAsync(server.call('setKeyIf', bad, 'x'), { name: 'TypeError', message: /key/ });
    await t.throwsAsync(server.call('setKey', key, bad), { name: 'TypeError', message: /value/ });
    await t.throwsAsync(server.call('setKeyIf', key, bad, 'kept'), { name: 'TypeError', message: /newValue/ });
    await t.throwsAsync(server.call('setKeyIf', key, 'x', bad), { name: 'TypeError', message: /checkValue/ });
    t.is(await get(key), 'kept');
  });
}

test('getKey(undefined) throws', async (t) => {
  await t.throwsAsync(server.call('getKey', undefined), { name: 'TypeError', message: /key/ });
  await t.throwsAsync(server.call('getKey'), { name: 'TypeError', message: /key/ });
});
