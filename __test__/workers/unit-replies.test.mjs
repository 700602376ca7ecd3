// Replies of handlers during a batch: short replies are sent together, and no other call overtakes them.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { Gateway } = require('../../js/dist/gateway/gateway.js');
const { Replies } = require('../../js/dist/worker/replies.js');

const ROOM = 4;

/** A gateway over a native side that records calls, and the replies of its worker. */
function setUp() {
  const notes = [];
  const worker = { replyList: new ArrayBuffer(ROOM * 16) };
  const native = {
    reply: (count, texts) => notes.push(['reply', listed(count), texts]),
    send: (target, data, except, count = 0, texts = '') => {
      notes.push(['send', target, data, except, listed(count), texts]);
      return 7;
    },
    sendLong: (target, data, except, count, texts) => {
      notes.push(['sendLong', target, data.length, except, listed(count), texts]);
      return 8;
    },
    subscribe: (...given) => notes.push(['subscribe', ...given]),
    close: (...given) => notes.push(['close', ...given]),
  };
  const listed = (count) => [...new Float64Array(worker.replyList).subarray(0, count * 2)];
  const replies = new Replies(native, worker);
  const gateway = Gateway.ofWorker(native, 1);
  gateway.collectReplies(replies);
  return { gateway, replies, notes };
}

test('replies to the socket whose event is handled are sent together when the drain ends', (t) => {
  const { gateway, replies, notes } = setUp();
  replies.begin();
  replies.handling(5);
  t.is(gateway.send(5, 'one'), 1);
  t.is(gateway.send(5, ''), 1);
  replies.handling(6);
  t.is(gateway.send(6, 'grüße 🎈'), 1);
  t.deepEqual(notes, []);
  replies.end();
  t.deepEqual(notes, [['reply', [5, 3, 5, 0, 6, 8], 'onegrüße 🎈']]);
  replies.end();
  t.is(notes.length, 1, 'once');
});

test('no replies are collected outside a drain, for other sockets, or of other kinds', (t) => {
  const { gateway, replies, notes } = setUp();
  replies.handling(5);
  t.is(gateway.send(5, 'no drain'), 7);
  replies.begin();
  t.is(gateway.send(0, 'no socket is being handled'), 7);
  replies.handling(5);
  t.is(gateway.send(6, 'another socket'), 7);
  t.is(gateway.send('room', 'a channel'), 7);
  t.is(gateway.send([5], 'a list'), 7);
  t.is(gateway.send(5, Buffer.from('binary')), 7);
  t.is(gateway.send(5, 'options', { except: 9 }), 7);
  t.is(gateway.send(5, 'half a character: \ud83c'), 7);
  t.is(gateway.send(5, 'x'.repeat(1025)), 7);
  t.is(gateway.send(5, 'x'.repeat(2049)), 8);
  replies.handling(0);
  t.is(gateway.send(5, 'it may be gone'), 7);
  replies.end();
  t.is(gateway.send(5, 'after the drain'), 7);
  t.false(notes.some(([name]) => name === 'reply'));
  t.is(notes.length, 12);
});

test('a send to another socket first sends the collected replies', (t) => {
  const { gateway, replies, notes } = setUp();
  replies.begin();
  replies.handling(5);
  gateway.send(5, 'first');
  gateway.send('room', 'second', { except: [5] });
  gateway.send(5, 'third');
  gateway.send('room', 'y'.repeat(3000));
  gateway.send(5, 'fifth');
  replies.end();
  t.deepEqual(notes, [
    ['send', 'room', 'second', [5], [5, 5], 'first'],
    ['sendLong', 'room', 3000, undefined, [5, 5], 'third'],
    ['reply', [5, 5], 'fifth'],
  ]);
});

test('a message that is sent back is listed by its place, whatever its length', (t) => {
  const { gateway, replies, notes } = setUp();
  replies.begin();
  for (const [place, text] of [
    [0, 'short'],
    [9, 'l'.repeat(5000)],
    [20, 'half a character: \ud83c'],
  ]) {
    replies.receiving(text, place);
    replies.handling(5);
    t.is(gateway.send(5, text), 1);
  }
  t.is(gateway.send(5, 'another'), 1);
  replies.end();
  t.deepEqual(notes, [['reply', [5, -1, 5, -10, 5, -21, 5, 7], 'another']]);
  // its batch is handled
  replies.begin();
  replies.handling(5);
  t.is(gateway.send(5, 'short'), 1);
  replies.end();
  t.deepEqual(notes[1], ['reply', [5, 5], 'short']);
});

test('no other call overtakes a reply', (t) => {
  const { gateway, replies, notes } = setUp();
  replies.begin();
  replies.handling(5);
  gateway.send(5, 'a');
  gateway.subscribe(5, 'room');
  gateway.send(5, 'b');
  gateway.close(5, 1000, 'bye');
  replies.end();
  t.deepEqual(
    notes.map(([name]) => name),
    ['reply', 'subscribe', 'reply', 'close'],
  );
});

test('collected replies are limited in number and size', (t) => {
  const { gateway, replies, notes } = setUp();
  replies.begin();
  replies.handling(5);
  for (let n = 0; n < ROOM; n++) gateway.send(5, String(n));
  t.is(notes.length, 0);
  gateway.send(5, 'one more');
  t.deepEqual(notes, [['reply', [5, 1, 5, 1, 5, 1, 5, 1], '0123']]);
  replies.end();
  t.deepEqual(notes[1], ['reply', [5, 8], 'one more']);
});

test('an invalid argument throws while replies wait, and the replies are still sent', (t) => {
  const { gateway, replies, notes } = setUp();
  replies.begin();
  replies.handling(5);
  gateway.send(5, 'waits');
  t.throws(() => gateway.send(6, 'x', null), { instanceOf: TypeError });
  replies.end();
  t.deepEqual(notes, [['reply', [5, 5], 'waits']]);
});
