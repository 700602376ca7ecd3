// Where a worker module's handlers are found.
import { createRequire } from 'node:module';
import test from 'ava';

const { readWorkerModule } = createRequire(import.meta.url)('../../js/dist/worker/module.js');
const read = (exported) => readWorkerModule(exported, 'there');
const HANDLER = Symbol.for('millrace.exchange');

test('named exports first, then the members of an app', (t) => {
  const app = { fetch: () => 1, handleOpen: () => 'app', handleClose: () => 'app' };
  const module = read({ default: app, handleOpen: () => 'named' });
  t.is(module.handleOpen(), 'named');
  t.is(module.handleClose(), 'app');
  t.is(typeof module.exchange, 'function');
});

test('a default export needs nothing but a handler', (t) => {
  const module = read({ default: { handleTextMessage: (text) => `${text}!` } });
  t.deepEqual(Object.keys(module), ['handleTextMessage']);
  t.is(module.handleTextMessage('a'), 'a!');
});

test('where events have handlers by name, a default export that answers no requests is not looked at', (t) => {
  const whole = { handleBinaryMessage() {}, handleStop() {} };
  t.deepEqual(Object.keys(read({ default: whole, handleTextMessage() {} })), ['handleTextMessage']);
  t.deepEqual(Object.keys(read({ default: whole, handleStart() {} })), [
    'handleStart',
    'handleBinaryMessage',
    'handleStop',
  ]);
});

test('a default export within the default export, as compiled modules have it', (t) => {
  const compiled = { __esModule: true, default: { handleTextMessage: () => 'inner' } };
  t.is(read({ default: compiled, __esModule: true }).handleTextMessage(), 'inner');
  t.is(read(compiled).handleTextMessage(), 'inner');
});

test('a default export that is its own default export is read once', (t) => {
  const whole = { handleDrain: () => 1 };
  whole.default = whole;
  t.deepEqual(Object.keys(read(whole)), ['handleDrain']);
});

test('members of an app are called on it', (t) => {
  class App {
    name = 'it';
    fetch() {}
    handleDrain() {
      return this.name;
    }
  }
  t.is(read({ default: new App() }).handleDrain(), 'it');
});

test('without a handler it is an error that says what is there, and what was looked for', (t) => {
  const wrong = [
    [{ handleTextMesage() {}, other: 1 }, 'it has only handleTextMesage, other.'],
    [{ default: { onMessage() {} } }, 'it has only default, onMessage.'],
    [{ default: 5 }, 'it has only default.'],
    [() => {}, 'it exports nothing.'],
    [Object.create({ a: 1 }, { hidden: { value: 1 } }), 'it exports nothing.'],
  ];
  for (const [exported, says] of wrong) {
    const error = t.throws(() => read(exported), { name: 'MillraceError', code: 'ERR_MILLRACE_NO_HANDLER' });
    t.true(error.message.startsWith(`there is no handler in there: ${says}`), error.message);
    t.regex(
      error.message,
      /needs one of handleStart, .*handleTextMessage.* as a named export or in its default export$/,
    );
  }
});

test('an empty object says that no handler is needed; an empty module does not', async (t) => {
  t.deepEqual(read({}), {});
  const empty = await import('data:text/javascript,export {}');
  t.throws(() => read(empty), { code: 'ERR_MILLRACE_NO_HANDLER' });
});

test('a module that only starts something has a handler', (t) => {
  t.deepEqual(Object.keys(read({ handleStart() {} })), ['handleStart']);
});

test('an exchange handler goes before fetch', (t) => {
  const asked = [];
  const app = Object.assign(() => {}, {
    [HANDLER]: (exchange) => asked.push(exchange),
    fetch: () => asked.push('fetch'),
  });
  read({ default: app }).exchange('exchange');
  read(app).exchange('directly');
  t.deepEqual(asked, ['exchange', 'directly']);
});

test('a router that answers to every name has only what it has', (t) => {
  const asked = [];
  // as those of itty-router are made
  const anything = new Proxy({}, { get: (_target, name) => () => asked.push(name) });
  const router = { __proto__: anything, routes: [], fetch: () => 'answer' };
  for (const exported of [{ default: router }, router]) {
    const module = read(exported);
    t.deepEqual(Object.keys(module), ['exchange']);
  }
  t.deepEqual(asked, []);
});

test('handlers must be functions', (t) => {
  t.throws(() => read({ fetch: 5 }), { instanceOf: TypeError, message: /'fetch' must be a function, not number/ });
  t.throws(() => read({ handleOpen: {} }), { instanceOf: TypeError, message: /'handleOpen' must be a function/ });
});
