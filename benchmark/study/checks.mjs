#!/usr/bin/env node
// Checks every server variant: its replies, limits, paths and signals.
//   node benchmark/study/checks.mjs     fails with status 1 on any difference
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import WebSocket from 'ws';
import { startServer } from './processes.mjs';
import { all } from './variants.mjs';

const hash = (text) => `{"sha":"${createHash('sha256').update(text).digest('hex')}"}`;
const known = {
  hello: '{"sha":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}',
  '': '{"sha":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}',
};
const invalid = Buffer.from([0x68, 0xff, 0xc3, 0x28, 0xe2, 0x82]);

/** The checks: each has a title, and a function that returns the actual and the expected value. */
const CHECKS = [
  ['the reply to "hello"', async (server) => [await ask(server, 'hello'), known.hello]],
  ['the reply to the empty message', async (server) => [await ask(server, ''), known['']]],
  ['the reply to text beyond ASCII', async (server) => [await ask(server, 'Grüße, 世界 🌍'), hash('Grüße, 世界 🌍')]],
  ['the reply to a text with a byte order mark', async (server) => [await ask(server, '\ufeffx'), hash('\ufeffx')]],
  ['the reply to a binary message', async (server) => [await ask(server, Buffer.from('hello')), known.hello]],
  ['the reply to an empty binary message', async (server) => [await ask(server, Buffer.alloc(0)), known['']]],
  ['the reply to invalid UTF-8', async (server) => [await ask(server, invalid), hash(invalid.toString())]],
  ['a message of 1024 bytes', async (server) => [await ask(server, 'x'.repeat(1024)), hash('x'.repeat(1024))]],
  ['a message of 1025 bytes', async (server) => [await closeCode(server, 'x'.repeat(1025)), 1009]],
  ['a binary message of 1025 bytes', async (server) => [await closeCode(server, Buffer.alloc(1025)), 1009]],
  ['a connection on any path', async (server) => [await ask(server, 'hello', '/a/b?c=d'), known.hello]],
  ['replies in the order of the requests', async (server) => inOrder(server)],
  ['a ping without JSON', async (server) => [await pong(server, 'no json'), 'no json']],
  ['/stats with two connections', async (server) => [await activeWhileOpen(server, 2), 2]],
  ['the kinds of values in /stats', async (server) => [await shape(server), 'number object number number number']],
  ['/other', async (server) => [await server.get('/other'), { status: 404, body: { error: 'Not Found' } }]],
];
const SIGNALS = { SIGINT: 0, SIGTERM: 1 };

export const checkCount = CHECKS.length + Object.keys(SIGNALS).length;

/** The failed checks of a variant, one line each. */
export async function checkServer(variant) {
  const wrong = [];
  const compare = (what, found, wanted) => {
    const [is, must] = [found, wanted].map((value) => JSON.stringify(value));
    if (is !== must) wrong.push(`${what}: ${is}, not ${must}`);
  };
  for (const [signal, status] of Object.entries(SIGNALS)) {
    const server = await startServer(variant.command);
    try {
      for (const [what, check] of signal === 'SIGINT' ? CHECKS : []) {
        await check(server).then(
          ([found, wanted]) => compare(what, found, wanted),
          (error) => wrong.push(`${what}: ${error.message}`),
        );
      }
    } finally {
      compare(`the status after ${signal}`, await server.stop(signal), status);
    }
  }
  return wrong;
}

async function connect(server, path = '/') {
  const client = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, { perMessageDeflate: false });
  await once(client, 'open', { signal: AbortSignal.timeout(5_000) });
  return client;
}

/** Connects, does something, closes. */
async function connected(server, path, action) {
  const client = await connect(server, path);
  try {
    return await action(client);
  } finally {
    client.close();
    if (client.readyState !== WebSocket.CLOSED) await once(client, 'close', { signal: AbortSignal.timeout(5_000) });
  }
}

/** The text of the reply to one message, or a note that the reply is binary, which no check expects. */
function ask(server, data, path = '/') {
  return connected(server, path, async (client) => {
    client.send(data);
    const [reply, isBinary] = await once(client, 'message', { signal: AbortSignal.timeout(5_000) });
    return isBinary ? 'a binary message' : reply.toString();
  });
}

function inOrder(server) {
  return connected(server, '/', async (client) => {
    const texts = Array.from({ length: 100 }, (_, number) => `request ${number}`);
    const replies = [];
    const all = new Promise((resolve) => {
      client.on('message', (reply) => {
        if (replies.push(reply.toString()) === texts.length) resolve();
      });
    });
    for (const text of texts) client.send(text);
    await Promise.race([all, once(client, 'close', { signal: AbortSignal.timeout(5_000) })]);
    return [replies, texts.map(hash)];
  });
}

async function closeCode(server, data) {
  const client = await connect(server);
  client.send(data);
  const [code] = await once(client, 'close', { signal: AbortSignal.timeout(5_000) });
  return code;
}

function pong(server, payload) {
  return connected(server, '/', async (client) => {
    client.ping(payload);
    const [answer] = await once(client, 'pong', { signal: AbortSignal.timeout(5_000) });
    return answer.toString();
  });
}

async function activeWhileOpen(server, count) {
  const clients = await Promise.all(Array.from({ length: count }, () => connect(server)));
  try {
    // connections of earlier checks may still be open
    for (const end = Date.now() + 5_000; ; ) {
      const { body } = await server.get('/stats');
      if (body.activeConnections === count || Date.now() > end) return body.activeConnections;
    }
  } finally {
    for (const client of clients) client.terminate();
  }
}

async function shape(server) {
  const { body } = await server.get('/stats');
  const names = ['activeConnections', 'perWorker', 'messages', 'errors', 'rss'];
  const first = Object.keys(body)[0];
  if (first !== names[0]) return `${first} comes first`;
  return names.map((name) => typeof body[name]).join(' ');
}

async function main() {
  let differences = 0;
  for (const variant of all) {
    const wrong = await checkServer(variant);
    differences += wrong.length;
    console.log(`${variant.title}: ${wrong.length === 0 ? `${checkCount} checks, all right` : 'WRONG'}`);
    for (const line of wrong) console.log(`  ${line}`);
  }
  process.exitCode = differences === 0 ? 0 : 1;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
