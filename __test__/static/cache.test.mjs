// Static files: the cache in memory follows the disk, and large files are sent in chunks.
import { once } from 'node:events';
import { closeSync, ftruncateSync, openSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { folderFor, requestsTo, write } from '../support/files.mjs';
import { connectOptions, parseHead } from '../support/http.mjs';
import { ownServer, worker } from '../support/server.mjs';

const MIB = 1024 * 1024;
const ECHO = { workerPath: worker('echo'), threads: 1 };

test('a file that changes is served anew, in length and in bytes', async (t) => {
  const folder = folderFor(t, { 'a.txt': 'one', 'index.html': 'home' });
  const server = await ownServer(t, { ...ECHO, static: folder, limits: { staticCheckMs: 20 } });
  const get = requestsTo(server);
  const first = await get('/a.txt');
  t.is(first.text, 'one');
  // the same length: only the time tells
  write(folder, 'a.txt', 'two');
  const second = await until(async () => {
    const answer = await get('/a.txt');
    return answer.text !== 'one' && answer;
  }, 'the new bytes');
  t.is(second.text, 'two');
  t.not(second.headers.etag, first.headers.etag);
  t.is((await get('/a.txt', { headers: { 'If-None-Match': first.headers.etag } })).status, 200);
  write(folder, 'new.txt', 'longer than before');
  renameSync(path.join(folder, 'new.txt'), path.join(folder, 'a.txt'));
  await until(async () => (await get('/a.txt')).text === 'longer than before', 'the renamed file');
  unlinkSync(path.join(folder, 'a.txt'));
  await until(async () => (await get('/a.txt')).status === 404, 'its end');
  write(folder, 'a.txt', 'again');
  await until(async () => (await get('/a.txt')).text === 'again', 'its return');
});

test('a compressed sibling that appears or disappears is noticed', async (t) => {
  const folder = folderFor(t, { 'a.txt': 'one' });
  const server = await ownServer(t, { ...ECHO, static: folder, limits: { staticCheckMs: 20 } });
  const get = requestsTo(server);
  const coding = async () =>
    (await get('/a.txt', { headers: { 'Accept-Encoding': 'gzip' } })).headers['content-encoding'];
  t.is(await coding(), undefined);
  write(folder, 'a.txt.gz', 'zip');
  await until(async () => (await coding()) === 'gzip', 'the sibling');
  unlinkSync(path.join(folder, 'a.txt.gz'));
  await until(async () => (await coding()) === undefined, 'its end');
});

test('a folder that appears or disappears is noticed', async (t) => {
  const folder = folderFor(t, { 'index.html': 'home' });
  const server = await ownServer(t, { ...ECHO, static: folder, limits: { staticCheckMs: 20 } });
  const get = requestsTo(server);
  for (const round of [1, 2]) {
    for (const name of ['a.txt', 'b.txt', 'c/d.txt']) t.is((await get(`/new/${name}`)).status, 404);
    write(folder, 'new/a.txt', `round ${round}`);
    await until(async () => (await get('/new/a.txt')).text === `round ${round}`, 'the file in the new folder');
    t.is((await get('/new/b.txt')).status, 404);
    rmSync(path.join(folder, 'new'), { recursive: true });
    await until(async () => (await get('/new/a.txt')).status === 404, 'its end');
  }
});

test('without memory for files every request reads them', async (t) => {
  const folder = folderFor(t, { 'a.txt': 'one' });
  const server = await ownServer(t, { ...ECHO, static: folder, limits: { staticCacheBytes: 0 } });
  const get = requestsTo(server);
  for (const text of ['one', 'two', 'three', 'four']) {
    write(folder, 'a.txt', text);
    t.is((await get('/a.txt')).text, text);
  }
});

test('more files than fit into memory are served all the same', async (t) => {
  const names = Array.from({ length: 200 }, (_, i) => `${i}.txt`);
  const folder = folderFor(t, Object.fromEntries(names.map((name) => [name, name.repeat(1000)])));
  const server = await ownServer(t, { ...ECHO, static: folder, limits: { staticCacheBytes: 100_000 } });
  const get = requestsTo(server);
  for (let round = 0; round < 2; round++) {
    for (const name of names) t.is((await get(`/${name}`)).text, name.repeat(1000));
  }
});

test('a file that shrinks while it is sent ends the connection, and nothing else', async (t) => {
  const folder = folderFor(t, { 'a.txt': 'a' });
  makeSparse(folder, 'large.bin', 64 * MIB);
  const server = await ownServer(t, { ...ECHO, static: folder });
  const reader = await read(server, '/large.bin');
  makeSparse(folder, 'large.bin', 1000);
  reader.socket.resume();
  await until(() => reader.over, 'the end of the connection');
  t.is(reader.head.headers['content-length'], String(64 * MIB));
  t.true(reader.received < 64 * MIB);
  t.is((await requestsTo(server)('/a.txt')).text, 'a');
});

test('a file of 1 GiB goes to a slow reader without being held', async (t) => {
  const folder = folderFor(t, {});
  makeSparse(folder, 'large.bin', 1024 * MIB);
  const server = await ownServer(t, { ...ECHO, static: folder });
  const before = (await server.usage()).rss;
  const reader = await read(server, '/large.bin');
  t.is(reader.head.headers['content-length'], String(1024 * MIB));
  // it does not read: what the kernel takes is all that leaves the disk
  let most = 0;
  while (reader.received < 1024 * MIB) {
    const goal = Math.min(reader.received + 32 * MIB, 1024 * MIB);
    reader.socket.resume();
    await until(() => reader.received >= goal, 'some MiB');
    reader.socket.pause();
    most = Math.max(most, (await server.usage()).rss - before);
  }
  reader.socket.destroy();
  t.log(
    `resident memory grew by ${(most / MIB).toFixed(1)} MiB while ${Math.round(reader.received / MIB)} MiB were read`,
  );
  t.true(most < 48 * MIB, `${most}`);
});

function makeSparse(folder, name, length) {
  const descriptor = openSync(path.join(folder, name), 'a');
  ftruncateSync(descriptor, length);
  closeSync(descriptor);
}

/** A request whose answer is read only while its socket is not paused; the head is there. */
async function read(server, target) {
  const socket = net.connect(connectOptions(server.addresses[0]));
  const reader = { socket, received: 0, head: undefined, over: false };
  let seen = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    reader.received += chunk.length;
    if (reader.head !== undefined) return;
    seen = Buffer.concat([seen, chunk]);
    reader.head = parseHead(seen);
    if (reader.head === undefined) return;
    socket.pause();
    socket.emit('head');
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    reader.over = true;
  });
  const head = once(socket, 'head');
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await head;
  return reader;
}
