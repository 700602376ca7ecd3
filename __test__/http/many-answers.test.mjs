// Answers of many connections in one turn: with io_uring or one by one they arrive whole and in order, even if the
// client takes none for a while, and before the connection is closed.
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';

import { ask } from '../support/ask.mjs';
import { within } from '../support/deadline.mjs';
import { connectOptions, parseHead } from '../support/http.mjs';
import { ownServer, worker } from '../support/server.mjs';

const CLIENTS = 8;
const REQUESTS = 600;
const BODY_BYTES = 9000;

const bodyOf = (client, index) => `${client}/${index} `.padEnd(BODY_BYTES, 'x');

function request(client, index) {
  const close = index === REQUESTS - 1 ? 'Connection: close\r\n' : '';
  return `POST /text HTTP/1.1\r\nHost: localhost\r\n${close}Content-Length: ${BODY_BYTES}\r\n\r\n${bodyOf(client, index)}`;
}

/** A connection with all its requests sent, of which nothing is read yet. */
async function connect(t, address, client) {
  const socket = net.connect(connectOptions(address));
  t.teardown(() => socket.destroy());
  socket.pause();
  await once(socket, 'connect');
  for (let index = 0; index < REQUESTS; index++) socket.write(request(client, index));
  return socket;
}

/** The bodies of all answers until the end of a connection. */
async function bodiesOf(socket) {
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.resume();
  await once(socket, 'end');
  const bodies = [];
  let bytes = Buffer.concat(chunks);
  while (bytes.length > 0) {
    const { status, headers, length } = parseHead(bytes);
    const end = length + Number(headers['content-length']);
    bodies.push(status === 200 ? bytes.toString('latin1', length, end) : status);
    bytes = bytes.subarray(end);
  }
  return bodies;
}

for (const ioUring of [true, false]) {
  test(`${CLIENTS} connections with ${REQUESTS} answers each, ioUring ${ioUring}`, async (t) => {
    const options = {
      threads: 1,
      ioThreads: 1,
      ioUring,
      limits: { bodyTimeoutMs: 300_000, answerTimeoutMs: 300_000, writeTimeoutMs: 300_000 },
    };
    const server = await ownServer(t, { workerPath: worker('fetch'), ...options });
    const address = server.addresses[0];
    const sockets = await Promise.all(Array.from({ length: CLIENTS }, (_, client) => connect(t, address, client)));
    // clients that do not read do not delay others
    for (let index = 0; index < 50; index++) t.is((await ask(address, '/hello')).text, 'hello');
    const all = await within(Promise.all(sockets.map(bodiesOf)), 'all answers', 300_000);
    for (const [client, bodies] of all.entries()) {
      t.is(bodies.length, REQUESTS);
      t.is(
        bodies.findIndex((body, index) => body !== bodyOf(client, index)),
        -1,
      );
    }
  });
}
