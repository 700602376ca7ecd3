// The sockets of an app whose clients speak `millrace.v1`: handlers by path, and `socket.call`.
import { createRequire } from 'node:module';
import test from 'ava';

import express from '../support/http-app.mjs';
import { sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const { readWorkerModule } = createRequire(import.meta.url)('../../js/dist/worker/module.js');

const channels = { 'room:*': { clients: { subscribe: true, publish: true } } };
const server = sharedServer(test, { workerPath: worker('v1-app'), threads: 1, channels });

test('a path decides about its own clients, and on another the terms do', async (t) => {
  const ann = await speak(t, server, { path: '/asked/ann' });
  t.deepEqual(await ann.subscribe('room:ann'), { t: 'ok' });
  t.is((await ann.subscribe('room:bob')).code, 'denied');
  const plain = await speak(t, server, { path: '/plain' });
  t.deepEqual(await plain.subscribe('room:bob'), { t: 'ok' });
  t.deepEqual(await ann.ask({ t: 'pub', c: 'room:bob' }, 'hi'), { t: 'ok' });
  t.deepEqual(await plain.next(), [{ c: 'room:bob' }, 'ann: hi']);
  plain.send({ t: 'pub', c: 'room:ann' }, 'as it is');
  t.deepEqual(await ann.next(), [{ c: 'room:ann' }, 'as it is']);
});

test('a path answers calls, and calls back', async (t) => {
  const ann = await speak(t, server, { path: '/asked/ann' });
  ann.send({ t: 'call', id: 1, m: 'buy' }, '7');
  t.deepEqual(await ann.next(), [{ t: 'ok', id: 1 }, '{"method":"buy","params":"7","name":"ann"}']);
  ann.send({ t: 'call', id: 2, m: 'back' }, 'x');
  const [question, params] = await ann.next();
  t.is(params, '{"of":"x"}');
  ann.send({ t: 'ok', id: question.id }, 'yes');
  t.deepEqual(await ann.next(), [{ t: 'ok', id: 2 }, 'client said yes']);
  const plain = await speak(t, server, { path: '/plain' });
  t.is((await plain.ask({ t: 'call', m: 'buy' })).code, 'not_found');
});

test('an app whose paths have no such handler is not asked', (t) => {
  const app = express();
  app.ws('/', { text() {} });
  for (const name of ['handleSubscribe', 'handlePublish', 'handleCall']) {
    t.is(readWorkerModule(app, 'test')[name], undefined, name);
  }
  app.ws('/more', { call() {} });
  t.is(typeof readWorkerModule(app, 'test').handleCall, 'function');
  t.is(readWorkerModule(app, 'test').handlePublish, undefined);
});
