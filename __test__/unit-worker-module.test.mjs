// Where a worker module's handlers are found.
import { createRequire } from 'node:module';
import test from 'ava';

const { readWorkerModule } = createRequire(import.meta.url)('../js/dist/worker/module.js');
const read = (exported) => readWorkerModule(exported, 'there');
const HANDLER = Symbol.for('millrace.exchange');

test('named exports first, then the members of a default export that answers requests', (t) => {
  const app = { fetch: () => 1, handleOpen: () => 'app', handleClose: () => 'app' };
  const module = read({ default: app, handleOpen: () => 'named' });
  t.is(module.handleOpen(), 'named');
  t.is(module.handleClose(), 'app');
  t.is(typeof module.exchange, 'function');
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

test('a default export that answers no requests is no app', (t) => {
  t.deepEqual(read({ default: { handleOpen: () => true } }), {});
  t.deepEqual(read({ default: 5 }), {});
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
