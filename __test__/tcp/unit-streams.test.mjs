// The received and sent bytes of a TCP connection, without a server.
import { createRequire } from 'node:module';
import test from 'ava';

import { until } from '../support/deadline.mjs';

const require = createRequire(import.meta.url);
const { Received } = require('../../js/dist/tcp/received.js');
const { Outgoing } = require('../../js/dist/tcp/tcp-outgoing.js');
const { OPERATION_TCP_WRITE } = require('../../js/dist/worker/kinds.generated.js');

/** Bytes of every kind: characters of one to four bytes, halves of them, and bytes of no character. */
const PIECES = ['a', 'é', '€', '😀', '\ufeff', '\0'].map((text) => Buffer.from(text));
const BROKEN = [
  [0xff],
  [0xc0, 0x80],
  [0xe2, 0x82],
  [0xf0, 0x9f, 0x98],
  [0x80],
  [0xf5],
  [0xed, 0xa0, 0x80],
  [0xe0, 0x80],
];
const ALL = [...PIECES, ...BROKEN.map((bytes) => Buffer.from(bytes))];

function* pairs() {
  for (const one of ALL) for (const other of ALL) yield Buffer.concat([one, other, PIECES[0], other]);
}

test('text is the same wherever packets split it, and whenever it is read', (t) => {
  for (const bytes of pairs()) {
    const whole = bytes.toString();
    for (let first = 0; first <= bytes.length; first += 1) {
      for (let second = first; second <= bytes.length; second += 1) {
        const received = new Received();
        const parts = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        let text = '';
        for (const [index, part] of parts.entries()) {
          received.push(part);
          // taken now, or left for later
          if ((first + index) % 2 === 0) text += received.takeText(100) ?? '';
        }
        received.end();
        text += received.text;
        t.is(text, whole, `${bytes.toString('hex')} cut at ${first} and ${second}`);
      }
    }
  }
});

test('bytes are returned as they arrived, and only once', (t) => {
  const received = new Received();
  const shared = Buffer.from('abcdef');
  received.push(shared.subarray(0, 2));
  received.push(shared.subarray(2, 3));
  shared.fill(0);
  t.is(received.size, 3);
  t.is(String(received.takeBytes(1)), 'a', 'a view that is used again was copied');
  t.is(received.text, 'bc');
  t.deepEqual([received.size, received.bytes.length, received.takeBytes(9)], [2, 0, null]);
  received.text = 'c';
  received.push(Buffer.of(0xe2, 0x82));
  t.deepEqual([received.text, received.size], ['c', 3], 'the beginning of a character is still bytes');
  received.push(Buffer.of(0xac));
  t.is(received.takeText(1), 'c');
  t.is(received.takeText(1), '€');
});

test('half a character is never taken from text', (t) => {
  const received = new Received();
  received.push(Buffer.from('a😀😀'));
  t.is(received.takeText(2), 'a😀');
  t.is(received.takeText(1), '😀');
  t.is(received.takeText(1), null);
  received.text = 'x\ud83d';
  t.is(received.takeText(2), 'x\ud83d', 'there is no other half');
});

/** A native side that records its calls, and refuses data while it is full. */
function native() {
  const told = [];
  return {
    told,
    isFull: false,
    notes: () => told.filter(({ fields }) => fields.length > 0).length,
    tell(socketId, operation, fields, payload) {
      if (this.isFull) return false;
      told.push({ socketId, operation, fields, payload });
      return true;
    },
  };
}

test('a notification is requested for each quarter, one at a time', (t) => {
  const worker = native();
  const outgoing = new Outgoing(worker, 7, 4096, () => t.fail());
  t.is(outgoing.writeBytes(Buffer.alloc(1000)), 1000);
  t.is(worker.notes(), 0);
  t.is(outgoing.writeBytes(Buffer.alloc(1000)), 1000);
  t.is(worker.notes(), 1);
  t.is(outgoing.writeBytes(Buffer.alloc(3000)), 2096);
  t.is(outgoing.writeText('x'), 0);
  t.is(worker.notes(), 1);
  t.true(worker.told.every(({ socketId, operation }) => socketId === 7 && operation === OPERATION_TCP_WRITE));
  t.false(outgoing.takeRoom());
  // the first two thousand were sent: the rest requests another notification
  t.false(outgoing.noted(), 'more than half waits');
  t.is(worker.notes(), 2);
  t.true(outgoing.isShort);
  t.true(outgoing.noted());
  t.false(outgoing.isShort);
  t.false(outgoing.noted(), 'it is told once');
  t.is(outgoing.writeText('é'.repeat(3000)), 4096);
});

test('data for which an I/O thread has no room is not taken, and is tried again', async (t) => {
  const worker = native();
  let rooms = 0;
  const outgoing = new Outgoing(worker, 7, 4096, () => {
    rooms += outgoing.takeRoom() ? 1 : 0;
  });
  worker.isFull = true;
  t.is(outgoing.writeText('text'), 0);
  t.true(outgoing.isShort);
  await until(() => rooms === 1, 'another try');
  worker.isFull = false;
  t.is(outgoing.writeText('text'), 4);
  t.is(outgoing.writeBytes(Buffer.alloc(1024)), 1024);
  worker.isFull = true;
  t.is(outgoing.close(), false);
  worker.isFull = false;
  t.is(outgoing.writeBytes(Buffer.alloc(1500)), 1500);
  worker.isFull = true;
  t.false(outgoing.noted());
  t.is(worker.notes(), 1, 'the next note is put off');
  worker.isFull = false;
  await until(() => worker.notes() === 2, 'the note');
});
