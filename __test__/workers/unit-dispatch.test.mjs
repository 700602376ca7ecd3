// How handlers run: their order, failures and deadlines, and when their replies are sent.
import test from 'ava';

import { Batch, DRAIN, deferred, later, setUp } from '../support/dispatch.mjs';

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
    [
      { limitKey: 'user 7', token: 't' },
      [
        'acceptWith',
        1,
        { protocol: undefined, token: 't', headers: [], isValue: false, limitKey: 'user 7', compress: true },
      ],
    ],
    [
      { compress: false, protocol: 'a' },
      [
        'acceptWith',
        1,
        { protocol: 'a', token: undefined, headers: [], isValue: false, limitKey: undefined, compress: false },
      ],
    ],
    [{ compress: true }, ['accept', 1, undefined, undefined, []]],
  ];
  const failed = ['refuse', 1, 500, [], 'Internal server error (open handler)'];
  const bad = [
    { status: 'x' },
    { status: 200 },
    { protocol: 'c' },
    { token: () => {} },
    { headers: { 'a b': 'x' } },
    { headers: { a: 'x\r\ny' } },
    { status: 400, body: 5 },
    { limitKey: '' },
    { compress: 'no' },
    { limitKey: 7 },
    { limitKey: 'x'.repeat(257) },
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

test('if handleOpen throws, rejects or is late, the answer is 500', async (t) => {
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

test('a handler that throws closes only its own connection', (t) => {
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

test('thrown values that are not errors are shown in a readable form', (t) => {
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

test('events of a connection wait for its pending handler, those of other connections do not', async (t) => {
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
  // the slot belongs to another connection now
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

test('thenables are awaited, and one whose `then` throws is a failure', async (t) => {
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

test('a late handler closes its connection; its result is ignored, and handleClose follows', async (t) => {
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

test('no handleClose runs for a refused connection, or if another worker handles the close', async (t) => {
  const seen = [];
  const refusing = setUp({ handleOpen: () => Promise.resolve(false), handleClose: (id) => void seen.push(id) });
  refusing.drain(new Batch().open(0, 1).close(0, 1));
  await later();
  const retired = setUp({ handleClose: (id) => void seen.push(id) });
  retired.worker.claimClose = () => false;
  retired.drain(new Batch().open(0, 2, { awaited: false }).close(0, 2));
  t.deepEqual(seen, []);
});

test('a message without a handler closes the connection with 1011', (t) => {
  const { drain, notes } = setUp({});
  drain(new Batch().open(0, 1, { awaited: false }).text(0, 'x').text(0, 'y'));
  t.deepEqual(notes, [['close', 1, 1011, 'Server worker has no handler']]);
});

test('handlers are called with `this` undefined', (t) => {
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

test('settling waits for pending handlers', async (t) => {
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

test('a close that arrives during the check for remaining connections is handled first', async (t) => {
  const { dispatcher, worker } = setUp({});
  let waiting = 0;
  let handled = 0;
  let connections = 1;
  worker.leave = () => {};
  worker.connections = () => {
    // the I/O thread ends it now: in one step it appends the close and stops counting the connection
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

test('replies are sent when the drain ends, and before a failure closes the connection', (t) => {
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

test('in handleClose the socket is gone: messages to it are not collected', (t) => {
  const { api, drain, notes } = setUp({
    handleTextMessage: (_text, id) => void api.send(id, 'reply'),
    handleClose: (id) => void api.send(id, 'too late'),
  });
  drain(new Batch().open(1, 11, { awaited: false }).text(1, 'a').close(1, 11));
  t.deepEqual(notes, [['send', 11, 'too late', undefined, 1, 'reply']]);
});
