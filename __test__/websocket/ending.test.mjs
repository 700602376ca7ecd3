// The end of a connection: messages that were complete before a Close, a protocol error or the end of the stream are
// handled, and messages that their handlers send at once arrive before the server's close frame.
import { once } from 'node:events';

import test from 'ava';
import WebSocket from 'ws';

import { SOON, until, within } from '../support/deadline.mjs';
import { close, frame, text } from '../support/frames.mjs';
import { member, open, ownServer, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });

const COUNT = 100;
const numbers = Array.from({ length: COUNT }, (_, index) => String(index));
const messages = Buffer.concat(numbers.map((number) => text(number)));

/** A frame with an undefined opcode. */
const MISTAKE = frame({ opcode: 3 });

const texts = (ws) => ws.inbox.map(({ data }) => data);

test('the client of ws gets 100 echoes of 100 messages before a close', async (t) => {
  const client = new WebSocket(`ws://${server.addresses[0]}`);
  t.teardown(() => client.terminate());
  await within(once(client, 'open'), 'the handshake', SOON);
  const received = [];
  client.on('message', (data) => received.push(String(data)));
  for (const number of numbers) client.send(number);
  client.close(4000, 'done');
  const [code] = await within(once(client, 'close'), 'the close', SOON);
  t.is(code, 4000);
  t.deepEqual(received, numbers);
});

test('messages and a close in one segment: all are answered before the close frame', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw(Buffer.concat([messages, close(4001)]));
  t.like(await ws.closed(), { code: 4001, finished: true });
  t.deepEqual(texts(ws), numbers);
});

test('messages and a protocol error in one segment: all are answered before the close frame', async (t) => {
  for (const before of [text('0'), messages]) {
    const ws = await open(t, server);
    await ws.raw(Buffer.concat([before, MISTAKE]));
    t.like(await ws.closed(), { code: 1002, finished: true });
    t.deepEqual(texts(ws), before === messages ? numbers : ['0']);
  }
});

test('messages and the end of the stream: all are answered', async (t) => {
  const ws = await open(t, server);
  await ws.raw(messages);
  ws.end();
  t.like(await ws.closed(), { code: 1006, finished: true });
  t.deepEqual(texts(ws), numbers);
});

test('the close frame waits for pending handlers, and for the messages that wait for them', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1 });
  for (const [index, [end, code]] of [
    [close(1000), 1000],
    [MISTAKE, 1002],
  ].entries()) {
    const slow = `slow ${index}`;
    const ws = await open(t, own, { autoClose: false });
    await ws.raw(Buffer.concat([text(slow), text('behind'), end]));
    t.is(await ws.text(), 'started');
    await own.call('setKey', slow, 'released');
    t.like(await ws.closed(), { code, finished: true });
    t.deepEqual(texts(ws), [slow, 'behind']);
  }
});

test('the close frame waits for a handler no longer than closeTimeoutMs', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, limits: { closeTimeoutMs: 3000 } });
  const ws = await open(t, own, { autoClose: false });
  await ws.raw(Buffer.concat([text('slow for ever'), close(1000)]));
  t.is(await ws.text(), 'started');
  t.like(await ws.closed(), { code: 1000, finished: true });
  t.deepEqual(texts(ws), []);
  // its handleClose waits for the handler
  await own.call('setKey', 'slow for ever', 'over');
});

test('the close frame waits for a handler no longer than handlerTimeoutMs', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, limits: { handlerTimeoutMs: 500 } });
  const ws = await open(t, own, { autoClose: false });
  await ws.raw(Buffer.concat([text('slow for ever'), close(1000)]));
  t.is(await ws.text(), 'started');
  t.like(await ws.closed(), { code: 1011, finished: true });
});

test('handleClose runs after all messages, with the code and reason of the peer', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1 });
  const [ws, observer] = [await member(t, own, { autoClose: false }), await member(t, own)];
  await own.call('subscribe', observer.id, 'log');
  const published = JSON.stringify({ cmd: 'pub', channel: 'log', data: 'the last message' });
  await ws.raw(Buffer.concat([text(published), close(4002, 'bye')]));
  t.is((await ws.closed()).code, 4002);
  await until(() => texts(observer).some((data) => data.includes('4002')), 'the close to be told');
  const seen = texts(observer);
  t.true(seen.indexOf('the last message') < seen.findIndex((data) => data.includes('4002')), seen.join('\n'));
});
