// Which exports of a worker module are its handlers.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import test from 'ava';

const { readWorkerModule } = createRequire(import.meta.url)('../../js/dist/worker/module.js');
const read = (exported) => readWorkerModule(exported, 'there');
const HANDLER = Symbol.for('millrace.exchange');

test('named exports take precedence over the members of an app', (t) => {
  const app = { fetch: () => 1, handleOpen: () => 'app', handleClose: () => 'app' };
  const module = read({ default: app, handleOpen: () => 'named' });
  t.is(module.handleOpen(), 'named');
  t.is(module.handleClose(), 'app');
  t.is(typeof module.exchange, 'function');
});

test('a default export needs only one handler', (t) => {
  const module = read({ default: { handleTextMessage: (text) => `${text}!` } });
  t.deepEqual(Object.keys(module), ['handleTextMessage']);
  t.is(module.handleTextMessage('a'), 'a!');
});

test('if there are named handlers of events, a default export that answers no requests is ignored', (t) => {
  const whole = { handleBinaryMessage() {}, handleStop() {} };
  t.deepEqual(Object.keys(read({ default: whole, handleTextMessage() {} })), ['handleTextMessage']);
  t.deepEqual(Object.keys(read({ default: whole, handleStart() {} })), [
    'handleStart',
    'handleBinaryMessage',
    'handleStop',
  ]);
});

test('a default export inside the default export is read, as in compiled modules', (t) => {
  const compiled = { __esModule: true, default: { handleTextMessage: () => 'inner' } };
  t.is(read({ default: compiled, __esModule: true }).handleTextMessage(), 'inner');
  t.is(read(compiled).handleTextMessage(), 'inner');
});

test('a default export that is its own default export is read once', (t) => {
  const whole = { handleDrain: () => 1 };
  whole.default = whole;
  t.deepEqual(Object.keys(read(whole)), ['handleDrain']);
});

test('the members of an app are called with the app as `this`', (t) => {
  class App {
    name = 'it';
    fetch() {}
    handleDrain() {
      return this.name;
    }
  }
  t.is(read({ default: new App() }).handleDrain(), 'it');
});

test('a module without handlers is an error that names its exports and the expected handlers', (t) => {
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
      /needs one of handleStart, .*handleTextMessage.* as a named export or in its default export(\.|$)/,
    );
  }
});

test('an empty handlers object is valid, an empty module is an error', async (t) => {
  t.deepEqual(read({}), {});
  const empty = await import('data:text/javascript,export {}');
  t.throws(() => read(empty), { code: 'ERR_MILLRACE_NO_HANDLER' });
});

test('handleStart alone counts as a handler', (t) => {
  t.deepEqual(Object.keys(read({ handleStart() {} })), ['handleStart']);
});

test('an exchange handler takes precedence over fetch', (t) => {
  const asked = [];
  const app = Object.assign(() => {}, {
    [HANDLER]: (exchange) => asked.push(exchange),
    fetch: () => asked.push('fetch'),
  });
  read({ default: app }).exchange('exchange');
  read(app).exchange('directly');
  t.deepEqual(asked, ['exchange', 'directly']);
});

test('of a router whose proxy has every property, only its own handlers count', (t) => {
  const asked = [];
  // itty-router makes its routers in this way
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

test('a misspelt handler is an error that names the one that was meant', (t) => {
  for (const [wrong, meant] of [
    ['handleTextMesage', 'handleTextMessage'],
    ['handleBinarymessage', 'handleBinaryMessage'],
    ['HandleOpen', 'handleOpen'],
    ['handleTetxMessage', 'handleTextMessage'],
  ]) {
    for (const exported of [{ [wrong]() {}, handleDrain() {} }, { default: { [wrong]() {}, handleStop() {} } }]) {
      t.throws(() => read(exported), {
        instanceOf: TypeError,
        message: `'${wrong}' is not a handler; did you mean ${meant}? (there)`,
      });
    }
  }
  const own = { handleOpened() {}, handleSend() {}, handleEverything() {}, handleTextMesage: 7, handleText() {} };
  t.deepEqual(Object.keys(read({ ...own, handleOpen() {} })), ['handleOpen']);
  const both = { handleTextMessage() {}, handleTextMessages() {} };
  t.deepEqual(Object.keys(read(both)), ['handleTextMessage']);
});

test('a request listener without nodeHandler is an error that names nodeHandler', (t) => {
  const express = Object.assign((_req, _res) => undefined, { get() {}, use() {} });
  for (const listener of [() => undefined, express, createServer(), { callback() {} }, { routing() {} }]) {
    for (const exported of [listener, { default: listener }]) {
      t.throws(() => read(exported), { code: 'ERR_MILLRACE_NO_HANDLER', message: /pass it to nodeHandler/ });
    }
  }
  t.notRegex(t.throws(() => read({ other() {} })).message, /nodeHandler/);
});
