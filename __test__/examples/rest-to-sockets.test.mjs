// The REST to sockets example: what is posted is told to those who listen.
import test from 'ava';

import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { connect } from '../support/ws-client.mjs';

const inBrowser = browserTests(test);
const KEY = 'the key of this test';

async function startExample(t) {
  const example = await Example.start('examples/rest-to-sockets/server.mjs', [], { PORT: '0', API_KEY: KEY });
  t.teardown(() => example.kill());
  const ask = async (method, path, value, key = KEY) => {
    const headers = { 'content-type': 'application/json', connection: 'close' };
    if (key !== undefined) headers.authorization = `Bearer ${key}`;
    const answer = await fetch(`${example.url}${path}`, { method, headers, body: JSON.stringify(value) });
    return { status: answer.status, location: answer.headers.get('location'), body: await answer.json() };
  };
  return { example, ask, listen: (path) => connect(t, example.address, { path }) };
}

test('sockets are told of new orders, and of changes to theirs', async (t) => {
  const { example, ask, listen } = await startExample(t);
  const all = await listen('/orders');
  const flour = { id: 1, item: 'flour', status: 'received' };
  t.deepEqual(await ask('POST', '/orders', { item: ' flour ' }), { status: 201, location: '/orders/1', body: flour });
  t.deepEqual(await all.json(), flour);
  const bran = (await ask('POST', '/orders', { item: 'bran' })).body;
  t.deepEqual(await all.json(), bran);
  const one = await listen('/orders/1');
  t.deepEqual(await one.json(), flour);
  // what becomes of another order is not told to who listens to the first
  t.is((await ask('PUT', '/orders/2/status', { status: 'sent' })).status, 200);
  t.deepEqual(await all.json(), { ...bran, status: 'sent' });
  const packed = { ...flour, status: 'packed' };
  t.deepEqual((await ask('PUT', '/orders/1/status', { status: 'packed' })).body, packed);
  for (const client of [all, one]) t.deepEqual(await client.json(), packed);
  t.deepEqual((await ask('GET', '/orders')).body, [packed, { ...bran, status: 'sent' }]);
  t.deepEqual((await ask('GET', '/orders/1')).body, packed);
  t.is(await example.end(), ended());
});

test('what is no order, and who has no key, changes nothing', async (t) => {
  const { ask, listen } = await startExample(t);
  const all = await listen('/orders');
  t.is((await ask('POST', '/orders', { item: 'flour' })).status, 201);
  for (const key of ['', 'another', `${KEY}!`]) {
    t.is((await ask('POST', '/orders', { item: 'flour' }, key)).status, 401, key);
  }
  t.like(await all.json(), { id: 1 });
  for (const value of [{}, { item: 7 }, { item: ' ' }, null, 'flour']) {
    t.deepEqual((await ask('POST', '/orders', value)).body, { error: 'item must be a text' });
  }
  t.is((await ask('PUT', '/orders/1/status', { status: 'eaten' })).status, 400);
  t.deepEqual((await ask('PUT', '/orders/9/status', { status: 'sent' })).body, { error: 'there is no order 9' });
  t.is((await ask('GET', '/orders/9')).status, 404);
  t.is((await t.throwsAsync(listen('/orders/9'))).status, 404);
  t.is((await t.throwsAsync(listen('/'))).status, 404);
  t.is((await ask('GET', '/orders')).body.length, 1);
});

test('without a key in the environment one is made and printed', async (t) => {
  const example = await Example.start('examples/rest-to-sockets/server.mjs', [], { PORT: '0', API_KEY: '' });
  t.teardown(() => example.kill());
  const [, key] = /^API_KEY: ([\w-]{36})$/m.exec(example.output);
  const post = async (more) => {
    const headers = { 'content-type': 'application/json', connection: 'close', ...more };
    return (await fetch(`${example.url}/orders`, { method: 'POST', headers, body: '{"item":"flour"}' })).status;
  };
  t.is(await post({}), 401);
  t.is(await post({ authorization: `Bearer ${key}` }), 201);
});

inBrowser('the page shows the orders, and what becomes of them', async (t) => {
  const { example, ask } = await startExample(t);
  await ask('POST', '/orders', { item: '<b>flour</b>' });
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  await page.goto(example.url);
  await page.getByText('1: <b>flour</b>, received').waitFor();
  await ask('PUT', '/orders/1/status', { status: 'packed' });
  await ask('POST', '/orders', { item: 'bran' });
  await page.getByText('2: bran, received').waitFor();
  t.deepEqual(await page.getByRole('listitem').allTextContents(), ['1: <b>flour</b>, packed', '2: bran, received']);
});
