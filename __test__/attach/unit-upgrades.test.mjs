// What `attach` does with connections that cannot be taken over. The gateway is a stand-in.
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import { PassThrough } from 'node:stream';
import tls from 'node:tls';

import test from 'ava';

import { within } from '../support/deadline.mjs';
import { connectOptions, handshake, handshakeBytes } from '../support/http.mjs';

const { takeUpgrades } = createRequire(import.meta.url)('../../js/dist/gateway/attach.js');

const request = { method: 'GET', url: '/', httpVersion: '1.1', headers: { upgrade: 'websocket' }, rawHeaders: [] };

/** A server whose upgrades go to `adopt`, and what was reported. */
function attached(t, adopt) {
  const server = http.createServer((_request, response) => response.end('a page'));
  const reports = [];
  takeUpgrades(server, { paths: undefined, waitMs: undefined, adopt, report: (error) => reports.push(error) });
  t.teardown(() => server.close());
  return { server, reports };
}

async function listening({ server }) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${server.address().port}`;
}

for (const [name, make] of [
  ['PassThrough', () => new PassThrough()],
  ['TLSSocket', () => new tls.TLSSocket(new net.Socket())],
]) {
  test(`an upgrade of a ${name} is reported, and its connection is closed`, (t) => {
    const { server, reports } = attached(t, () => t.fail('it cannot be taken over'));
    const socket = make();
    server.emit('upgrade', request, socket, Buffer.alloc(0));
    t.true(socket.destroyed);
    t.like(reports, [{ code: 'ERR_MILLRACE_CANNOT_ATTACH' }]);
    t.regex(reports[0].message, new RegExp(`is ${name}, no plain net.Socket`));
  });
}

test('a connection that cannot be duplicated is closed and reported, and the next one is taken', async (t) => {
  const adopted = [];
  const one = attached(t, (_socket, bytes) => {
    if (adopted.push(String(bytes)) === 1) throw new Error('too many open files');
    return true;
  });
  const address = await listening(one);
  const open = async () => {
    const socket = net.connect(connectOptions(address));
    socket.write(handshakeBytes());
    socket.resume();
    await within(once(socket, 'close'), 'the end of the connection');
  };
  await open();
  t.like(one.reports, [{ message: 'too many open files' }]);
  t.is(await (await fetch(`http://${address}/`)).text(), 'a page');
  await open();
  t.is(adopted[1], String(handshakeBytes()));
  t.is(one.reports.length, 1);
});

test('a handshake that the gateway does not take gets 503', async (t) => {
  const one = attached(t, () => false);
  const answer = await handshake(await listening(one));
  t.is(answer.status, 503);
  t.deepEqual(one.reports, []);
});
