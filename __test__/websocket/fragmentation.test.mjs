// RFC 6455 §5.4: fragmentation (modelled on Autobahn's case 5).
import test from 'ava';

import {
  BINARY,
  binary,
  CLOSE,
  close,
  continuation,
  fragments,
  frame,
  PING,
  PONG,
  ping,
  pong,
  TEXT,
  text,
} from '../support/frames.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });

const WRONG = {
  '5.1 a ping in two fragments': [ping('frag', { fin: false }), continuation('ment')],
  '5.2 a pong in two fragments': [pong('frag', { fin: false }), continuation('ment')],
  '5.5 a close in two fragments': [close(1000, '', { fin: false }), continuation('')],
  '5.9 a final continuation with nothing to continue': [continuation('stray', { fin: true }), text('Hello')],
  '5.10 the same in one segment': [Buffer.concat([continuation('stray', { fin: true }), text('Hello')])],
  '5.12 an unfinished continuation with nothing to continue': [continuation('stray', { fin: false }), text('Hello')],
  '5.12 an empty stray continuation': [continuation('', { fin: true })],
  '5.15 a continuation after a completed fragmented message': [
    text('first', { fin: false }),
    continuation('last', { fin: true }),
    continuation('stray', { fin: false }),
    text('never', { fin: true }),
  ],
  '5.18 a text frame inside a fragmented text message': [text('first', { fin: false }), text('second', { fin: true })],
  'an unfinished text frame inside a fragmented text message': [
    text('first', { fin: false }),
    text('second', { fin: false }),
  ],
  'a binary frame inside a fragmented text message': [text('first', { fin: false }), binary('second')],
  'a text frame inside a fragmented binary message': [binary('first', { fin: false }), text('second')],
  'an empty text frame inside an empty fragmented message': [text('', { fin: false }), text('')],
};

for (const [name, pieces] of Object.entries(WRONG)) {
  test(`${name} is a protocol error`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(pieces);
    t.is((await ws.closed()).code, 1002);
    t.deepEqual(
      ws.inbox.filter(({ data }) => data !== 'firstlast'),
      [],
    );
    t.deepEqual(ws.pongs, []);
  });
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz';
const SHAPES = {
  '5.3 two fragments': ['frag1', 'frag2'],
  'three fragments': ['frag1', 'frag2', 'frag3'],
  '26 fragments of one byte': [...ALPHABET],
  'an empty first fragment': ['', 'rest'],
  'an empty last fragment': ['rest', ''],
  'an empty fragment in the middle': ['a', '', 'b'],
  '6.1.2 three empty fragments': ['', '', ''],
  '6.1.3 only the middle fragment holds something': ['', 'middle', ''],
  'fragments of 125, 126 and 65536 bytes': ['a'.repeat(125), 'b'.repeat(126), 'c'.repeat(65_536)],
  'a long first and a short last fragment': ['a'.repeat(70_000), 'z'],
};

for (const [name, payloads] of Object.entries(SHAPES)) {
  const whole = payloads.join('');
  test(`${name}: text`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(fragments(TEXT, payloads));
    t.is(await ws.text(), whole);
  });

  test(`${name}: binary, in one segment`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(Buffer.concat(fragments(BINARY, payloads)));
    const message = await ws.next();
    t.is(message.kind, 'binary');
    t.is(message.data.toString(), whole);
  });

  test(`${name}: with a ping before every fragment, answered before the message`, async (t) => {
    const ws = await open(t, server);
    const pieces = fragments(TEXT, payloads).flatMap((piece, index) => [ping(`ping ${index}`), piece]);
    await ws.raw(pieces.slice(0, -1));
    for (let index = 0; index < payloads.length; index++) t.is((await ws.pong()).toString(), `ping ${index}`);
    t.is(ws.inbox.length, 0);
    await ws.raw(pieces.at(-1));
    t.is(await ws.text(), whole);
  });
}

test('5.4 fragments octet by octet', async (t) => {
  const ws = await open(t, server);
  const bytes = Buffer.concat(fragments(TEXT, ['fragment1', 'fragment2']));
  await ws.raw(Array.from(bytes, (byte) => Buffer.from([byte])));
  t.is(await ws.text(), 'fragment1fragment2');
});

test('5.19 pings between fragments and between messages', async (t) => {
  const ws = await open(t, server);
  const [one, two] = [fragments(TEXT, ['f1', 'f2', 'f3', 'f4', 'f5']), fragments(BINARY, ['g1', 'g2'])];
  await ws.raw([
    one[0],
    one[1],
    ping('pongme 1!'),
    one[2],
    one[3],
    ping('pongme 2!'),
    one[4],
    ping('pongme 3!'),
    ...two,
  ]);
  t.is(await ws.text(), 'f1f2f3f4f5');
  t.is((await ws.next()).data.toString(), 'g1g2');
  t.deepEqual(ws.pongs.map(String), ['pongme 1!', 'pongme 2!', 'pongme 3!']);
});

test('unsolicited pongs between fragments are ignored', async (t) => {
  const ws = await open(t, server);
  const [first, last] = fragments(TEXT, ['a', 'b']);
  await ws.raw([first, frame({ opcode: PONG, payload: 'unasked' }), last]);
  t.is(await ws.text(), 'ab');
});

test('a close between fragments is answered, and the message is discarded', async (t) => {
  const ws = await open(t, server);
  await ws.raw([text('unfinished', { fin: false }), frame({ opcode: CLOSE, payload: Buffer.from([0x03, 0xe8]) })]);
  t.is((await ws.closed()).code, 1000);
  t.deepEqual(ws.inbox, []);
});

test('a ping inside a fragment that is cut in the middle of its header', async (t) => {
  const ws = await open(t, server);
  const [first, last] = fragments(TEXT, ['x'.repeat(300), 'y'.repeat(300)]);
  const between = frame({ opcode: PING, payload: 'now' });
  const bytes = Buffer.concat([first, between, last]);
  for (const cut of [first.length + 1, first.length + 3, first.length + 6, first.length + between.length + 2]) {
    await ws.raw([bytes.subarray(0, cut), bytes.subarray(cut)]);
    t.is((await ws.text()).length, 600);
    t.is((await ws.pong()).toString(), 'now');
  }
});

test('the kind of a fragmented message is the kind of its first frame', async (t) => {
  const ws = await open(t, server);
  await ws.raw([...fragments(BINARY, [Buffer.from([0xff]), Buffer.from([0xfe])]), ...fragments(TEXT, ['t', 'u'])]);
  t.deepEqual((await ws.next()).data, Buffer.from([0xff, 0xfe]));
  t.is(await ws.text(), 'tu');
});

test('fragments of one message and whole messages on other connections do not mix', async (t) => {
  const [one, two] = await Promise.all([open(t, server), open(t, server)]);
  const first = fragments(TEXT, ['one ', 'of ', 'three']);
  const second = fragments(TEXT, ['another ', 'one']);
  for (let index = 0; index < 3; index++) {
    await one.raw(first[index]);
    if (second[index]) await two.raw(second[index]);
  }
  t.is(await one.text(), 'one of three');
  t.is(await two.text(), 'another one');
});
