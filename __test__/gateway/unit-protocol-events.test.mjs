// Events of single protocols: what they call, in which order, and what a failing or slow handler leads to. Every real
// event of this kind needs a listener, so the tests add entries to the generated tables.
import { createRequire } from 'node:module';
import test from 'ava';

import { Batch, deferred, later, setUp, uint32 } from '../support/dispatch.mjs';

const require = createRequire(import.meta.url);
const { EVENT_HANDLERS, HANDLERS } = require('../../js/dist/worker/kinds.generated.js');
const { handlerBits, readWorkerModule } = require('../../js/dist/worker/module.js');

const CALLS = 70_001;
const BIT = 1 << 20;
EVENT_HANDLERS[CALLS] = 'handleProbe';
HANDLERS.handleProbe = BIT;

// … and a protocol to the list of them
const OWN = 70_003;
const { default: PROTOCOLS } = require('../../js/dist/protocols/registry.js');
let own;
let loaded = 0;
const ended = [];
PROTOCOLS.push({
  name: 'probe',
  worker: () => {
    loaded += 1;
    return { events: { [OWN]: (event) => own(event) }, closed: (socketId) => void ended.push(socketId) };
  },
});

test('a handler is found in the module, and its bit is reported', (t) => {
  const handleProbe = () => undefined;
  const module = readWorkerModule({ handleProbe, handleTextMessage: () => undefined }, 'here');
  t.is(module.handleProbe, handleProbe);
  t.is(handlerBits(module), BIT | HANDLERS.handleTextMessage);
  t.is(handlerBits(readWorkerModule({}, 'here')), 0);
  const fetch = () => ({ status: 200 });
  t.is(handlerBits(readWorkerModule({ fetch }, 'here')), HANDLERS.fetch);
  t.throws(() => readWorkerModule({ handleProbe: 1 }, 'here'), { instanceOf: TypeError, message: /'handleProbe'/ });
});

test('a handler gets the socket, its token, the words of the fields and the payload', (t) => {
  const seen = [];
  const { drain, exchange, setToken } = setUp({ handleProbe: (...given) => void seen.push(given) });
  drain(new Batch().open(3, 41, { awaited: false }).event(3, CALLS));
  setToken(41, 'secret');
  const fields = uint32([1, 0xffffffff]);
  drain(new Batch().event(3, CALLS, { fields, payload: [1, 2, 3] }));
  const large = new Uint8Array(20_000).fill(7);
  drain(new Batch().event(3, CALLS, { fields: uint32([5]), payload: large, beside: 0 }), [large.slice().buffer]);
  exchange(new Batch().event(3, CALLS, { payload: [9] }));
  // overwrite the contents of the exchange
  exchange(new Batch().event(3, CALLS, { payload: [8] }));
  const plain = seen.map(([id, token, ...rest]) => [
    id,
    token && String(token),
    ...rest.map((one) => (typeof one === 'number' ? one : [...one])),
  ]);
  t.deepEqual(plain, [
    [41, undefined],
    [41, 'secret', 1, 0xffffffff, [1, 2, 3]],
    [41, 'secret', 5, [...large]],
    [41, 'secret', [9]],
    [41, 'secret', [8]],
  ]);
});

test('nothing is called for an unknown event, an event without a handler, or an event of a closed socket', (t) => {
  const { drain, errors, notes } = setUp({ handleTextMessage: () => undefined });
  drain(new Batch().open(0, 1, { awaited: false }).event(0, CALLS).event(9, CALLS).event(0, 70_002));
  t.deepEqual([errors, notes], [[], []]);
});

test('an event without a handler is for the code of its protocol, which is loaded once', (t) => {
  const seen = [];
  own = ({ socketId, token, fields, payload }) => {
    seen.push([socketId, token && String(token), [...fields], [...payload]]);
  };
  const { drain, errors, setToken } = setUp({ handleTextMessage: (text) => void seen.push(text) });
  const before = loaded;
  setToken(5, 'secret');
  const batch = new Batch().open(0, 5, { awaited: false }).event(0, OWN, { fields: [1, 2, 3], payload: [4] });
  drain(batch.text(0, 'then').event(0, OWN));
  t.deepEqual(seen, [[5, 'secret', [1, 2, 3], [4]], 'then', [5, 'secret', [], []]]);
  t.is(loaded, before + 1);
  own = () => {
    throw new Error('broken');
  };
  drain(new Batch().event(0, OWN));
  t.is(errors[0].message.split('\n')[0], `event ${OWN} failed for socket 5: broken`);
});

test("only a socket's end waits for the promises of a protocol's code", async (t) => {
  const seen = [];
  const [first, second] = [deferred(), deferred()];
  const promises = [first.promise, second.promise];
  own = ({ payload }) => {
    seen.push(payload[0]);
    return promises.shift();
  };
  const { drain, notes } = setUp({
    handleTextMessage: (text) => void seen.push(text),
    handleClose: () => void seen.push('closed'),
  });
  const batch = new Batch()
    .open(0, 7, { awaited: false })
    .event(0, OWN, { payload: [1] })
    .text(0, 'text');
  drain(batch.event(0, OWN, { payload: [2, 3] }));
  t.deepEqual(seen, [1, 'text', 2]);
  const counted = () => notes.splice(0).filter(([name]) => name === 'hold' || name === 'release');
  t.deepEqual(counted(), [['hold', 7, 1, 0]], 'once, whatever waits');
  second.resolve();
  await later();
  t.deepEqual(counted(), []);
  drain(new Batch().close(0, 7));
  t.is(ended.at(-1), 7, 'it is told at once');
  t.is(seen.at(-1), 2);
  first.resolve();
  await later();
  t.is(seen.at(-1), 'closed');
});

test('the code of a protocol that is late ends its connection', async (t) => {
  own = () => new Promise(() => {});
  const { drain, errors, notes } = setUp({ handleTextMessage: () => undefined }, { handlerTimeoutMs: 20 });
  drain(new Batch().open(0, 1, { awaited: false }).event(0, OWN));
  while (errors.length === 0) await later();
  t.is(errors[0].message, `event ${OWN} took too long for socket 1`);
  t.true(notes.some(([name, id, code]) => name === 'close' && id === 1 && code === 1011));
});

test('an event waits for a promise, and the next event waits for its own', async (t) => {
  const seen = [];
  const [first, second] = [deferred(), deferred()];
  const { drain, notes } = setUp({
    handleTextMessage: (text) => {
      seen.push(text);
      return text === 'first' ? first.promise : undefined;
    },
    handleProbe: (_id, _token, number) => {
      seen.push(number);
      return number === 1 ? second.promise : undefined;
    },
    handleClose: () => void seen.push('closed'),
  });
  const one = { fields: uint32([1]), payload: [1, 2, 3] };
  const batch = new Batch().open(0, 1, { awaited: false }).text(0, 'first').event(0, CALLS, one);
  drain(
    batch
      .text(0, 'then')
      .event(0, CALLS, { fields: uint32([2]) })
      .close(0, 1),
  );
  t.deepEqual(seen, ['first']);
  const held = notes.splice(0).filter(([name]) => name === 'hold');
  t.deepEqual(held, [
    ['hold', 1, 1, 5],
    ['hold', 1, 1, 7],
    ['hold', 1, 1, 4],
    ['hold', 1, 1, 4],
  ]);
  first.resolve();
  await later();
  t.deepEqual(seen, ['first', 1]);
  t.deepEqual(notes.splice(0), [['release', 1, 1, 5]]);
  second.resolve();
  await later();
  t.deepEqual(seen, ['first', 1, 'then', 2, 'closed']);
  t.deepEqual(notes, [['release', 1, 3, 15]]);
});

test('fields that wait are not those of a later batch', async (t) => {
  const seen = [];
  const { promise, resolve } = deferred();
  const { exchange } = setUp({
    handleTextMessage: () => promise,
    handleProbe: (_id, _token, number, payload) => void seen.push([number, [...payload]]),
  });
  const waiting = { fields: uint32([1]), payload: [1] };
  exchange(new Batch().open(0, 1, { awaited: false }).text(0, 'x').event(0, CALLS, waiting));
  exchange(new Batch().open(1, 2, { awaited: false }).event(1, CALLS, { fields: uint32([2]), payload: [2] }));
  resolve();
  await later();
  t.deepEqual(seen, [
    [2, [2]],
    [1, [1]],
  ]);
});

test('a handler that fails closes its connection as one for messages does', async (t) => {
  const { promise, reject } = deferred();
  const { drain, errors, notes } = setUp({
    handleProbe: (id) => {
      if (id === 1) throw new Error('at once');
      return promise;
    },
  });
  const batch = new Batch().open(0, 1, { awaited: false }).open(1, 2, { awaited: false });
  drain(batch.event(0, CALLS).event(0, CALLS).event(1, CALLS));
  reject(new Error('later'));
  await later();
  t.deepEqual(
    errors.map(({ code, message }) => [code, message.split('\n')[0]]),
    [
      ['ERR_MILLRACE_HANDLER_FAILED', 'handleProbe failed for socket 1: at once'],
      ['ERR_MILLRACE_HANDLER_FAILED', 'handleProbe failed for socket 2: later'],
    ],
  );
  const closes = notes.filter(([name]) => name === 'close');
  const reason = 'Internal server error (message handler)';
  t.deepEqual(closes, [
    ['close', 1, 1011, reason],
    ['close', 2, 1011, reason],
  ]);
});

test('a handler that is late closes its connection', async (t) => {
  const { drain, errors, notes } = setUp({ handleProbe: () => new Promise(() => {}) }, { handlerTimeoutMs: 20 });
  drain(new Batch().open(0, 1, { awaited: false }).event(0, CALLS));
  while (errors.length === 0) await later();
  t.is(errors[0].code, 'ERR_MILLRACE_HANDLER_TIMEOUT');
  t.is(errors[0].message, 'handleProbe took too long for socket 1');
  t.true(notes.some(([name, id, code]) => name === 'close' && id === 1 && code === 1011));
});
