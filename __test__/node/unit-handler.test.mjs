// What `nodeHandler` accepts, and what a module must not export beside it.
import { createServer } from 'node:http';
import test from 'ava';

import { readWorkerModule } from '../../js/dist/worker/module.js';
import { nodeHandler } from '../support/millrace-node.mjs';

const MESSAGE = Symbol.for('millrace.message');
const listener = (_req, res) => res.end();

test('an argument that is not a listener is an error that says so', (t) => {
  for (const wrong of [undefined, null, 7, 'app', {}, []]) {
    t.throws(() => nodeHandler(wrong), {
      instanceOf: TypeError,
      message: /^listener must be a request listener, or an app/,
    });
  }
});

test('a promise of a value that is not a listener rejects when it is awaited', async (t) => {
  await t.throwsAsync(nodeHandler(Promise.resolve({}))[MESSAGE].ready(), { instanceOf: TypeError });
  await t.throwsAsync(nodeHandler(Promise.reject(new Error('no app')))[MESSAGE].ready(), { message: 'no app' });
  await t.notThrowsAsync(nodeHandler(Promise.resolve(listener))[MESSAGE].ready());
});

test('frameworks are recognised by the members of their apps', async (t) => {
  const ready = [];
  const fastify = { routing: listener, ready: async () => void ready.push('fastify') };
  const nest = { init: async () => void ready.push('nest'), getHttpAdapter: () => ({ getInstance: () => listener }) };
  const koa = {
    callback() {
      ready.push('koa');
      return listener;
    },
  };
  for (const app of [fastify, nest, koa, createServer(listener)]) await nodeHandler(app)[MESSAGE].ready();
  t.deepEqual(ready, ['fastify', 'nest', 'koa']);
});

test('a server with listeners for upgrades is an error that says what to do', async (t) => {
  const server = createServer(listener).on('upgrade', () => undefined);
  const fastify = { routing: listener, ready: async () => undefined, server };
  const nest = { init: async () => undefined, getHttpAdapter: () => ({}), getHttpServer: () => server };
  for (const app of [server, fastify, nest, Promise.resolve(server)]) {
    await t.throwsAsync(nodeHandler(app)[MESSAGE].ready(), {
      code: 'ERR_MILLRACE_NO_NET_SOCKET',
      message: /listeners for 'upgrade' events.*handle sockets by handlers such as handleOpen/,
    });
  }
});

test('a module has either `fetch` or a listener of Node', (t) => {
  const handler = nodeHandler(listener);
  const both = { fetch: () => new Response(), default: handler };
  t.throws(() => readWorkerModule(both, 'here'), {
    instanceOf: TypeError,
    message: /either 'fetch' or what nodeHandler made/,
  });
  const read = readWorkerModule({ default: handler, handleTextMessage() {} }, 'here');
  t.is(read.message, handler[MESSAGE]);
  t.is(typeof read.handleTextMessage, 'function');
  t.is(readWorkerModule(handler, 'options.handlers').message, handler[MESSAGE]);
});
