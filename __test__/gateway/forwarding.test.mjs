// A handler that forwards a text unchanged: all recipients get it whole, in order with its other messages.
import test from 'ava';

import { open, ownServer, worker } from '../support/server.mjs';

const LENGTHS = [10, 64, 513, 2048, 2049, 16_384, 70_000, 1_000_000];

async function pair(t) {
  const server = await ownServer(t, { workerPath: worker('forwarding'), threads: 1, ioThreads: 2 });
  return [await open(t, server), await open(t, server)];
}

function long(way, length) {
  const text = `${way} ${'abcdefghij'.repeat(length / 10)}`;
  return text.padEnd(length, '.').slice(0, length);
}

test('to its sender, to a channel, to everybody else', async (t) => {
  const [one, two] = await pair(t);
  for (const length of LENGTHS) {
    const [back, room, others] = ['back', 'room', 'others'].map((way) => long(way, length));
    one.send(back);
    t.is(await one.text(), back);
    one.send(room);
    t.is(await one.text(), room);
    t.is(await two.text(), room);
    two.send(others);
    t.is(await one.text(), others);
    two.send(back);
    t.is(await two.text(), back);
  }
});

test('many in one batch, each once and in order', async (t) => {
  const [one] = await pair(t);
  const texts = [];
  for (let index = 0; index < 300; index++) {
    const text = long(`back ${index}`, 10 + 37 * index);
    // every third is not ASCII
    texts.push(index % 3 === 0 ? `${text} grüße 🎈` : text);
  }
  for (const text of texts) one.send(text);
  for (const text of texts) t.is(await one.text(), text);
});

test('in order with short replies, twice, and not confused with a changed text', async (t) => {
  const [one, two] = await pair(t);
  for (const length of [20, 1500, 5000]) {
    const text = long('mixed', length);
    one.send(text);
    const expected = ['first', text, text, text, text.replace('mixed', 'other'), 'last'];
    for (const each of expected) t.is(await one.text(), each);
    t.is(await two.text(), text);
  }
});

test('after an await, to an alias, to no recipient, after a wrong argument, and before a close', async (t) => {
  const [one] = await pair(t);
  const [later, alias, nobody, wrong, gone] = ['later', 'alias', 'nobody', 'wrong', 'gone'].map((way) =>
    long(way, 9000),
  );
  one.send(later);
  t.is(await one.text(), later);
  one.send(alias);
  t.is(await one.text(), `to the alias: ${alias}`);
  one.send(nobody);
  t.is(await one.text(), '0');
  one.send(wrong);
  t.regex(await one.text(), /argument 'target'/);
  t.is(await one.text(), wrong);
  one.send(gone);
  t.is(await one.text(), gone);
  t.is((await one.closed()).code, 4000);
});

test('a text that is not ASCII', async (t) => {
  const [one] = await pair(t);
  for (const times of [1, 100, 1000, 3000]) {
    const text = `back ${'grüße 🎈 '.repeat(times)}`;
    one.send(text);
    t.is(await one.text(), text);
  }
});
