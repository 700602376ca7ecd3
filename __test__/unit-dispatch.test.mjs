// Event records and handlers, with batches made here and a native side that only takes notes.
// Over 400 lines because the batch builder and the native side that takes notes serve every test here.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { Dispatcher } = require('../js/dist/worker/dispatch.js');
const { Gateway } = require('../js/dist/gateway.js');

const OPEN = 1;
const TEXT = 2;
const BINARY = 3;
const CLOSE = 4;
const DRAIN = 5;
const ASCII = 16;
const SIDECAR = 32;

/** A batch of records, as the native side writes them. */
class Batch {
  #parts = [];

  record(kind, slot, payload, flags = 0) {
    const words = Buffer.alloc(8);
    words.writeUInt32LE((kind | flags | (payload.length << 8)) >>> 0, 0);
    words.writeUInt32LE(slot, 4);
    this.#parts.push(words, payload, Buffer.alloc((4 - (payload.length % 4)) % 4));
    return this;
  }

  open(slot, id, { awaited = true, ip = '1.2.3.4', target = '/', headers = [] } = {}) {
    const texts = [ip, target, headers.map((part) => `${part}\0`).join('')].map((text) => Buffer.from(text, 'latin1'));
    const lengths = texts.map((text) => text.length);
    // no certificate: neither its subject nor its bytes
    const words = [id % 2 ** 32, Math.floor(id / 2 ** 32), awaited ? 1 : 0, ...lengths, 0, 0];
    return this.record(OPEN, slot, Buffer.concat([uint32(words), ...texts]));
  }

  text(slot, text) {
    const payload = Buffer.from(text);
    return this.record(TEXT, slot, payload, payload.length === text.length ? ASCII : 0);
  }

  binary(slot, bytes) {
    return this.record(BINARY, slot, Buffer.from(bytes));
  }

  close(slot, id, { code = 1000, token, reason = '' } = {}) {
    const tail = [token ?? Buffer.alloc(0), Buffer.from(reason)];
    const lengths = [token === undefined ? 0xffffffff : token.length, tail[1].length];
    const words = [id % 2 ** 32, Math.floor(id / 2 ** 32), code, ...lengths];
    return this.record(CLOSE, slot, Buffer.concat([uint32(words), ...tail]));
  }

  memory() {
    const bytes = Buffer.concat(this.#parts);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

function uint32(values) {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, index * 4);
  return bytes;
}

/** A dispatcher over a native side that takes notes. */
function setUp(module, { handlerTimeoutMs = 5000 } = {}) {
  const notes = [];
  const errors = [];
  const tokens = new Map();
  const tokenWords = new ArrayBuffer(4096);
  let drain;
  let current;
  const note =
    (name, result) =>
    (...given) => {
      notes.push([name, ...given]);
      return result;
    };
  const worker = {
    id: 1,
    tokenWords,
    exchange: new ArrayBuffer(65_536),
    replyList: new ArrayBuffer(16 * 4),
    activate: note('activate'),
    retire: note('retire'),
    hold: note('hold'),
    release: note('release'),
    claimClose: () => true,
    acceptOpen: note('accept'),
    refuseOpen: note('refuse'),
    rebatch: () => current.slice(0),
    drainNow: () => false,
    isIdle: () => true,
    requests: () => 0,
    observe: () => {},
    wake: () => {},
  };
  const gateway = {
    addWorker: (flags, given) => {
      notes.push(['addWorker', flags]);
      drain = given;
      return worker;
    },
    close: note('close', true),
    token: (id) => tokens.get(id),
    send: note('send', 1),
    sendLong: note('sendLong', 1),
    subscribe: note('subscribe', []),
    reply: (count, texts) => {
      const list = new Float64Array(worker.replyList);
      let at = 0;
      for (let index = 0; index < count; index++) {
        notes.push(['reply', list[index * 2], texts.slice(at, at + list[index * 2 + 1])]);
        at += list[index * 2 + 1];
      }
    },
  };
  const api = Gateway.ofWorker(gateway, 1);
  const dispatcher = new Dispatcher(gateway, api, module, handlerTimeoutMs, (error) => errors.push(error));
  notes.length = 0;
  return {
    dispatcher,
    worker,
    api,
    notes,
    errors,
    setToken: (id, token) => {
      tokens.set(id, Buffer.from(token));
      new Uint32Array(tokenWords)[id % 1024] += 1;
    },
    drain: (batch, sidecars = null) => {
      const memory = batch.memory();
      current = memory.slice(0);
      return drain(memory, memory.byteLength, sidecars);
    },
    exchange: (batch, sidecars = null) => {
      const memory = batch.memory();
      new Uint8Array(worker.exchange).set(new Uint8Array(memory));
      return drain(true, memory.byteLength, sidecars);
    },
    resume: () => drain(null, 0, null),
  };
}

const later = () => new Promise((resolve) => setImmediate(resolve));

/** A promise to settle by hand. */
function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}

test('messages reach their handlers with id and token', (t) => {
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

test('large payloads come from beside the batch', (t) => {
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

test('handleOpen is shown the request', (t) => {
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

test('answers of handleOpen', async (t) => {
  const cases = [
    [true, ['accept', 1, undefined, undefined, []]],
    [undefined, ['accept', 1, undefined, undefined, []]],
    [null, ['accept', 1, undefined, undefined, []]],
    [0, ['accept', 1, undefined, undefined, []]],
    ['no', ['accept', 1, undefined, undefined, []]],
    [{}, ['accept', 1, undefined, undefined, []]],
    [false, ['refuse', 1, 403, [], 'Connection rejected']],
    [
      { status: 401, headers: { 'WWW-Authenticate': 'x', A: ['1', '2'] }, body: 'who?' },
      ['refuse', 1, 401, ['WWW-Authenticate', 'x', 'A', '1', 'A', '2'], 'who?'],
    ],
    [{ protocol: 'a', token: 't', headers: { X: 'y' } }, ['accept', 1, 'a', 't', ['X', 'y']]],
  ];
  const failed = ['refuse', 1, 500, [], 'Internal server error (open handler)'];
  const bad = [
    { status: 'x' },
    { status: 200 },
    { protocol: 'c' },
    { token: 3 },
    { headers: { 'a b': 'x' } },
    { headers: { a: 'x\r\ny' } },
    { status: 400, body: 5 },
  ];
  for (const [answer, expected] of [...cases, ...bad.map((answer) => [answer, failed])]) {
    for (const given of [answer, Promise.resolve(answer)]) {
      const { drain, notes } = setUp({ handleOpen: () => given });
      drain(new Batch().open(0, 1, { headers: ['sec-websocket-protocol', 'a,b'] }));
      await later();
      t.deepEqual(notes, [expected], JSON.stringify(answer));
    }
  }
});

test('a handleOpen that throws, rejects or is late answers 500', async (t) => {
  const refused = ['refuse', 1, 500, [], 'Internal server error (open handler)'];
  const never = new Promise(() => {});
  const throws = () => {
    throw new Error('no');
  };
  for (const handleOpen of [throws, () => Promise.reject(undefined), () => never]) {
    const { drain, notes, errors } = setUp({ handleOpen }, { handlerTimeoutMs: 20 });
    drain(new Batch().open(0, 1));
    while (notes.length === 0) await later();
    t.deepEqual(notes, [refused]);
    t.is(errors.length, 1);
  }
});

test('a handler that throws closes its own connection only', (t) => {
  const seen = [];
  const { drain, notes, errors } = setUp({
    handleTextMessage: (text, id) => {
      if (text === 'bad') throw new Error('boom');
      seen.push([text, id]);
    },
    handleClose: (id) => void seen.push(['close', id]),
  });
  const batch = new Batch().open(0, 1, { awaited: false }).open(1, 2, { awaited: false });
  drain(batch.text(0, 'bad').text(0, 'dropped').text(1, 'kept').close(0, 1, { code: 1011 }));
  t.deepEqual(seen, [
    ['kept', 2],
    ['close', 1],
  ]);
  t.deepEqual(notes, [['close', 1, 1011, 'Internal server error (message handler)']]);
  t.is(errors[0].code, 'ERR_MILLRACE_HANDLER_FAILED');
  t.is(errors[0].cause.message, 'boom');
});

test('thrown values that are no errors are readable', (t) => {
  const values = [{ a: [1] }, null, undefined, 'text', Symbol('s')];
  const { drain, errors } = setUp({
    handleTextMessage: (text) => {
      throw values[Number(text)];
    },
  });
  const batch = new Batch();
  for (const index of values.keys()) batch.open(index, index + 1, { awaited: false }).text(index, String(index));
  drain(batch);
  const shown = errors.map((error) => error.message.replace(/.*: /, ''));
  t.deepEqual(shown, ['[ 1 ] }', 'null', 'undefined', 'text', 'Symbol(s)']);
});

test('events of one connection wait for its promise, others do not', async (t) => {
  const seen = [];
  const gate = deferred();
  const { drain, notes } = setUp({
    handleTextMessage: (text, id) => {
      seen.push([text, id]);
      return text === 'slow' ? gate.promise : undefined;
    },
    handleBinaryMessage: (data, id) => void seen.push([[...data], id]),
    handleDrain: (id) => void seen.push(['drain', id]),
    handleClose: (id, token, code, reason) => void seen.push(['close', id, token && String(token), code, reason]),
  });
  const batch = new Batch().open(0, 1, { awaited: false }).open(1, 2, { awaited: false });
  batch.text(0, 'slow').text(0, 'after').binary(0, [9, 8, 7]).text(1, 'other').record(DRAIN, 0, Buffer.alloc(0));
  drain(batch.close(0, 1, { code: 4001, token: Buffer.from('tk'), reason: 'bye é' }));
  // the slot belongs to somebody else now
  drain(new Batch().open(0, 3, { awaited: false }).text(0, 'new'));
  await later();
  t.deepEqual(seen, [
    ['slow', 1],
    ['other', 2],
    ['new', 3],
  ]);
  t.deepEqual(notes, [
    ['hold', 1, 1, 4],
    ['hold', 1, 1, 5],
    ['hold', 1, 1, 3],
  ]);
  gate.resolve();
  await later();
  t.deepEqual(seen.slice(3), [
    ['after', 1],
    [[9, 8, 7], 1],
    ['drain', 1],
    ['close', 1, 'tk', 4001, 'bye é'],
  ]);
  t.deepEqual(notes.slice(3), [['release', 1, 3, 12]]);
});

test('thenables are awaited, and one that breaks when looked at is a failure', async (t) => {
  const seen = [];
  let finish;
  const thenable = Object.defineProperty({}, 'then', {
    value: (done) => {
      finish = done;
    },
  });
  const broken = Object.defineProperty({}, 'then', {
    get() {
      throw new Error('x');
    },
  });
  const { drain, notes } = setUp({
    handleTextMessage: (text) => {
      seen.push(text);
      return text === 'thenable' ? thenable : broken;
    },
  });
  drain(new Batch().open(0, 1, { awaited: false }).text(0, 'thenable').text(0, 'broken').text(0, 'dropped'));
  await later();
  t.deepEqual(seen, ['thenable']);
  finish();
  await later();
  t.deepEqual(seen, ['thenable', 'broken']);
  t.deepEqual(notes.at(-2), ['close', 1, 1011, 'Internal server error (message handler)']);
  t.deepEqual(notes.at(-1), ['release', 1, 3, 21]);
});

test('a late handler closes its connection; what it does later is ignored and handleClose follows', async (t) => {
  const seen = [];
  const gate = deferred();
  const { drain, notes, errors } = setUp(
    {
      handleTextMessage: (text) => {
        seen.push(text);
        return gate.promise;
      },
      handleClose: (id) => {
        seen.push(['close', id]);
        return new Promise((resolve) => setTimeout(resolve, 5));
      },
    },
    { handlerTimeoutMs: 500 },
  );
  drain(new Batch().open(0, 1, { awaited: false }).text(0, 'late').text(0, 'dropped').close(0, 1));
  while (errors.length === 0) await later();
  t.is(errors[0].code, 'ERR_MILLRACE_HANDLER_TIMEOUT');
  t.deepEqual(seen, ['late', ['close', 1]]);
  gate.reject(new Error('too late to matter'));
  await later();
  t.is(errors.length, 1);
  t.deepEqual(
    notes.filter(([name]) => name === 'close'),
    [['close', 1, 1011, 'Internal server error (message handler)']],
  );
  t.deepEqual(
    notes.filter(([name]) => name === 'release'),
    [['release', 1, 2, 11]],
  );
});

test('a refused connection and one whose close another worker handles get no handleClose', async (t) => {
  const seen = [];
  const refusing = setUp({ handleOpen: () => Promise.resolve(false), handleClose: (id) => void seen.push(id) });
  refusing.drain(new Batch().open(0, 1).close(0, 1));
  await later();
  const retired = setUp({ handleClose: (id) => void seen.push(id) });
  retired.worker.claimClose = () => false;
  retired.drain(new Batch().open(0, 2, { awaited: false }).close(0, 2));
  t.deepEqual(seen, []);
});

test('closes of a dead worker are handled here', (t) => {
  const seen = [];
  const { drain } = setUp({ handleClose: (...given) => void seen.push(given) });
  drain(new Batch().close(0xffffffff, 9, { code: 1011, reason: 'Server worker is down' }));
  t.deepEqual(seen, [[9, undefined, 1011, 'Server worker is down']]);
});

test('a message without handler closes with 1011', (t) => {
  const { drain, notes } = setUp({});
  drain(new Batch().open(0, 1, { awaited: false }).text(0, 'x').text(0, 'y'));
  t.deepEqual(notes, [['close', 1, 1011, 'Server worker has no handler']]);
});

test('records survive a handler that transfers their buffer away', async (t) => {
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

test('a long drain stops and goes on where it was', (t) => {
  let count = 0;
  const { drain, resume } = setUp({
    handleTextMessage: () => {
      count += 1;
      const until = performance.now() + 2;
      while (performance.now() < until);
    },
  });
  const batch = new Batch().open(0, 1, { awaited: false });
  for (let index = 0; index < 40; index += 1) batch.text(0, 'x');
  t.true(drain(batch));
  t.true(count < 40);
  while (resume());
  t.is(count, 40);
});

test('handlers are called without this', (t) => {
  const seen = [];
  const module = {};
  for (const name of ['handleOpen', 'handleTextMessage', 'handleBinaryMessage', 'handleClose', 'handleDrain']) {
    module[name] = function () {
      seen.push(this);
    };
  }
  const { drain } = setUp(module);
  const batch = new Batch().open(0, 1).text(0, 'x').binary(0, [1]).record(DRAIN, 0, Buffer.alloc(0));
  drain(batch.close(0, 1));
  t.deepEqual(seen, [undefined, undefined, undefined, undefined, undefined]);
});

test('settling waits for pending handlers and ends late', async (t) => {
  const gate = deferred();
  const { drain, dispatcher, notes } = setUp({ handleTextMessage: () => gate.promise });
  drain(new Batch().open(0, 1, { awaited: false }).text(0, 'x'));
  let settled = false;
  const settling = dispatcher.settle(60_000).then(() => {
    settled = true;
  });
  await later();
  t.false(settled);
  gate.resolve();
  await settling;
  dispatcher.end();
  t.deepEqual(notes.at(-1), ['retire']);
});

test('short texts are parts of one decoded window, whatever lies between them', (t) => {
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

test('ASCII texts from beside the batch come as strings', (t) => {
  const seen = [];
  const { exchange } = setUp({ handleTextMessage: (text) => void seen.push(text) });
  const beside = new Batch()
    .open(1, 11, { awaited: false })
    .record(TEXT, 1, uint32([1, 5000]), ASCII | SIDECAR)
    .record(TEXT, 1, uint32([0, 5]), SIDECAR);
  exchange(beside, [new TextEncoder().encode('grüß').buffer, 's'.repeat(5000)]);
  t.deepEqual(seen, ['s'.repeat(5000), 'grüß']);
});

test('a close that comes while it is asked whether the last connection is gone is handled first', async (t) => {
  const { dispatcher, worker } = setUp({});
  let waiting = 0;
  let handled = 0;
  let connections = 1;
  worker.leave = () => {};
  worker.connections = () => {
    // the I/O thread ends it just now: one step appends the close and counts the connection no more
    waiting += connections;
    connections = 0;
    return connections;
  };
  worker.isIdle = () => waiting === 0;
  worker.drainNow = () => {
    handled += waiting;
    waiting = 0;
    return false;
  };
  dispatcher.leave();
  await dispatcher.settle(60_000);
  t.is(handled, 1);
});

test('replies leave when the drain ends, and before the connection is closed for a failure', (t) => {
  const { api, drain, notes } = setUp({
    handleTextMessage(text, id) {
      t.is(api.send(id, `re ${text}`), 1);
      if (text === 'bad') throw new Error('as told');
    },
  });
  drain(
    new Batch()
      .open(1, 11, { awaited: false })
      .open(2, 12, { awaited: false })
      .text(1, 'a')
      .text(2, 'bad')
      .text(1, 'b'),
  );
  t.deepEqual(
    notes.map((given) => given.slice(0, 3)),
    [
      ['reply', 11, 're a'],
      ['reply', 12, 're bad'],
      ['close', 12, 1011],
      ['reply', 11, 're b'],
    ],
  );
});

test('in handleClose the socket is gone: what is sent to it is not collected', (t) => {
  const { api, drain, notes } = setUp({
    handleTextMessage: (_text, id) => void api.send(id, 'reply'),
    handleClose: (id) => void api.send(id, 'too late'),
  });
  drain(new Batch().open(1, 11, { awaited: false }).text(1, 'a').close(1, 11));
  t.deepEqual(notes, [['send', 11, 'too late', undefined, 1, 'reply']]);
});
