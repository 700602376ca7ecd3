// The options of the adapter, and what it exports, without a server.
import { createRequire } from 'node:module';

import test from 'ava';

import millraceAdapter, { millraceAdapter as named } from '../support/millrace-crossws.mjs';

test('wrong options are named', (t) => {
  for (const [options, message] of [
    [7, /argument 'options' must be an object, not 7/],
    [null, /argument 'options' must be an object, not null/],
    [{ hook: {} }, /unknown option 'hook'; there are hooks, resolve, fetch/],
    [{ hooks: () => {} }, /'hooks' must be an object/],
    [{ resolve: {} }, /'resolve' must be a function/],
    [{ fetch: () => {}, hooks: {} }, /'fetch' replaces 'hooks' and 'resolve'/],
    [{ idleTimeout: 30 }, /no option 'idleTimeout'; use limits.pingIntervalMs/],
  ]) {
    t.throws(() => millraceAdapter(options), { instanceOf: TypeError, message });
  }
  t.notThrows(() => millraceAdapter());
  t.notThrows(() => millraceAdapter({ hooks: undefined, idleTimeout: undefined }));
});

test('handlers of pings exist only if there may be such hooks, fetch if it was given', (t) => {
  const names = (options) =>
    Object.keys(millraceAdapter(options).handlers).filter((name) => /Ping|Pong|fetch/.test(name));
  t.deepEqual(names({ hooks: {} }), []);
  t.deepEqual(names({ hooks: { ping() {} } }), ['handlePing']);
  t.deepEqual(names({ resolve: () => ({}) }), ['handlePing', 'handlePong']);
  t.deepEqual(names({ fetch: () => new Response() }), ['handlePing', 'handlePong', 'fetch']);
});

test('channels of topics and namespaces are never the same', (t) => {
  const { channel } = millraceAdapter();
  const names = [channel('b:c', 'a'), channel('c', 'a:b'), channel('c'), channel(':c'), channel('c', '/a')];
  t.is(new Set(names).size, names.length);
  t.is(channel('news', '/chat'), 'crossws:%2Fchat:news');
  t.is(channel('news'), 'crossws::news');
});

test('messages without options are sent without options, so that they leave together', (t) => {
  const sent = [];
  const hooks = {
    open(peer) {
      peer.send('plain');
      peer.send('image', { compress: false });
      peer.publish('news', 'to others');
      peer.publish('news', 'image', { compress: false });
    },
  };
  const adapter = millraceAdapter({ hooks });
  const gateway = { send: (...given) => sent.push(given), outboxBytes: () => 0 };
  adapter.handlers.handleStart(undefined, gateway);
  adapter.handlers.handleOpen(7, '', {}, { url: '/', path: '/', headers: {}, protocols: [] });
  adapter.publish('news', 'to all');
  t.deepEqual(sent, [
    [7, 'plain', undefined],
    [7, 'image', { compress: false }],
    ['crossws:%2F:news', 'to others', { except: 7 }],
    ['crossws:%2F:news', 'image', { except: 7, compress: false }],
    ['crossws::news', 'to all', undefined],
  ]);
});

test('the entry is the same as an ES module and in CommonJS', (t) => {
  t.is(millraceAdapter, named);
  t.is(createRequire(import.meta.url)('../../js/dist/crossws.js').millraceAdapter, named);
});
