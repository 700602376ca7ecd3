// Event records: messages, large and many of them, and requests for admission.
import test from 'ava';

import { ASCII, Batch, BINARY, deferred, later, SIDECAR, setUp, TEXT, uint32 } from '../support/dispatch.mjs';

test('handlers get messages with id and token', (t) => {
  const seen = [];
  const { drain, setToken } = setUp({
    handleTextMessage: (text, id, token) => seen.push([text, id, token && String(token)]) && undefined,
    handleBinaryMessage: (data, id) => seen.push([[...data], id]) && undefined,
  });
  const id = 2 ** 40 + 7;
  drain(
    new Batch()
      .open(3, id, { awaited: false })
      .text(3, 'hello')
      .text(3, 'hé€😀')
      .text(3, '')
      .binary(3, [1, 2, 3, 4, 5]),
  );
  setToken(id, 'secret');
  drain(new Batch().text(3, 'again'));
  t.deepEqual(seen, [
    ['hello', id, undefined],
    ['hé€😀', id, undefined],
    ['', id, undefined],
    [[1, 2, 3, 4, 5], id],
    ['again', id, 'secret'],
  ]);
});

test('large payloads arrive outside of the batch', (t) => {
  const seen = [];
  const { drain } = setUp({
    handleTextMessage: (text) => void seen.push(text),
    handleBinaryMessage: (data) => void seen.push(data.length),
  });
  const ascii = Buffer.from('a'.repeat(20_000));
  const other = Buffer.from('é'.repeat(20_000));
  const memory = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  drain(
    new Batch()
      .open(0, 1, { awaited: false })
      .record(TEXT, 0, uint32([0, ascii.length]), ASCII | SIDECAR)
      .record(TEXT, 0, uint32([1, other.length]), SIDECAR)
      .record(BINARY, 0, uint32([0, ascii.length]), SIDECAR),
    [memory(ascii), memory(other)],
  );
  t.deepEqual(seen, ['a'.repeat(20_000), 'é'.repeat(20_000), 20_000]);
});

test('handleOpen gets the request', (t) => {
  let seen;
  const { drain, notes } = setUp({
    handleOpen: (...given) => {
      seen = given;
    },
  });
  const headers = ['host', 'example.org', 'sec-websocket-protocol', 'b, a', '__proto__', 'x'];
  drain(new Batch().open(0, 5, { ip: '::1', target: '/chat/a%20b?room=1&x=%C3%A9', headers }));
  const [id, ip, given, request] = seen;
  t.deepEqual([id, ip, given.host, Object.keys(given).length], [5, '::1', 'example.org', 3]);
  t.is(request.url, '/chat/a%20b?room=1&x=%C3%A9');
  t.is(request.path, '/chat/a%20b');
  t.is(request.query.get('x'), 'é');
  t.is(request.query, request.query);
  t.deepEqual(request.protocols, ['b', 'a']);
  t.is(request.headers, given);
  t.deepEqual(notes, [['accept', 5, undefined, undefined, []]]);
});

test('closes of a terminated worker are handled by another one', (t) => {
  const seen = [];
  const { drain } = setUp({ handleClose: (...given) => void seen.push(given) });
  drain(new Batch().close(0xffffffff, 9, { code: 1011, reason: 'Server worker is down' }));
  t.deepEqual(seen, [[9, undefined, 1011, 'Server worker is down']]);
});

test('records stay valid if a handler transfers their buffer', async (t) => {
  const seen = [];
  const gate = deferred();
  const { drain } = setUp({
    handleBinaryMessage: (data, id) => {
      seen.push([...data]);
      if (data[0] === 1) structuredClone(data.buffer, { transfer: [data.buffer] });
      if (id === 2 && data[0] === 3) return gate.promise;
    },
    handleTextMessage: (text) => void seen.push(text),
  });
  const batch = new Batch().open(0, 1, { awaited: false }).open(1, 2, { awaited: false });
  batch.binary(1, [3]).binary(1, [4, 5]).binary(0, [1, 2]).text(0, 'é').binary(0, [1, 3]).text(0, 'last');
  t.false(drain(batch));
  t.deepEqual(seen, [[3], [1, 2], 'é', [1, 3], 'last']);
  gate.resolve();
  await later();
  t.deepEqual(seen.at(-1), [4, 5]);
});

test('a long drain stops, and continues where it stopped', (t) => {
  let count = 0;
  const handleTextMessage = () => {
    count += 1;
    const until = performance.now() + 2;
    while (performance.now() < until);
  };
  const { drain, resume } = setUp({ handleTextMessage }, { timed: true });
  const batch = new Batch().open(0, 1, { awaited: false });
  for (let index = 0; index < 40; index += 1) batch.text(0, 'x');
  t.true(drain(batch));
  t.true(count < 40);
  while (resume());
  t.is(count, 40);
});

test('short texts are parts of one decoded window, even with other records between them', (t) => {
  const seen = [];
  const { drain, exchange } = setUp({
    handleTextMessage: (text) => void seen.push(text),
    handleBinaryMessage: (data) => void seen.push(data.toString('latin1')),
  });
  const texts = [];
  for (let n = 0; n < 300; n++) {
    texts.push(n % 7 === 0 ? `grüße ${n}` : n % 11 === 0 ? 'l'.repeat(600 + n) : `${n}:`.padEnd(n % 60, 'x'), '');
  }
  const batch = () => {
    const made = new Batch().open(1, 11, { awaited: false });
    for (const text of texts) made.text(1, text);
    return made;
  };
  drain(batch());
  t.deepEqual(seen, texts);
  seen.length = 0;
  exchange(batch().binary(1, 'bytes'));
  t.deepEqual(seen, [...texts, 'bytes']);
  seen.length = 0;
  exchange(new Batch().text(1, 'the next batch'));
  t.deepEqual(seen, ['the next batch'], 'a window ends with its batch');
});

test('ASCII texts outside of the batch arrive as strings', (t) => {
  const seen = [];
  const { exchange } = setUp({ handleTextMessage: (text) => void seen.push(text) });
  const beside = new Batch()
    .open(1, 11, { awaited: false })
    .record(TEXT, 1, uint32([1, 5000]), ASCII | SIDECAR)
    .record(TEXT, 1, uint32([0, 5]), SIDECAR);
  exchange(beside, [new TextEncoder().encode('grüß').buffer, 's'.repeat(5000)]);
  t.deepEqual(seen, ['s'.repeat(5000), 'grüß']);
});
