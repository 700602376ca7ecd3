// Files of the file system that are sent over Sockety: the native side reads them.
import { randomBytes } from 'node:crypto';
import { appendFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { until } from './support/deadline.mjs';
import { folderFor } from './support/files.mjs';
import { Draft, FileTransfer } from './support/millrace-sockety.mjs';
import { answering, serve } from './support/sockety-own.mjs';

const upload = Draft.for('upload').files();
const ping = Draft.for('ping');

/** A server that collects the files of each message, and a client. */
async function collecting(t) {
  const came = [];
  const failed = [];
  const { to } = await serve(
    t,
    answering(async (message) => {
      if (message.action === 'ping') return message.accept();
      const files = message.files.map(async (file) => Buffer.concat(await file.toArray()));
      try {
        came.push(await Promise.all(files));
        message.accept();
      } catch (error) {
        failed.push(error.code);
      }
    }),
  );
  return { client: await to().ready(), came, failed };
}

const file = async (folder, name, bytes) => {
  const place = path.join(folder, name);
  await writeFile(place, bytes);
  return place;
};

test('files arrive as they are, many at the same time', async (t) => {
  const { client, came } = await collecting(t);
  const folder = folderFor(t, {});
  const contents = [0, 1, 262_143, 262_144, 262_145, 3_000_000].map((length) => randomBytes(length));
  const places = await Promise.all(contents.map((bytes, index) => file(folder, `${index}`, bytes)));
  const files = await Promise.all(places.map((place) => FileTransfer.fs(place)));
  const requests = Array.from({ length: 20 }, () => client.send(upload({ files })));
  const mixed = [FileTransfer.buffer(contents[2], 'memory'), files[5]];
  t.deepEqual(new Set(await Promise.all(requests.map((request) => request.response()))), new Set([0]));
  t.true(came.every((all) => all.every((bytes, index) => bytes.equals(contents[index]))));
  await requests[0].sent();
  t.is(await client.send(upload({ files: mixed })).response(), 0);
  t.true(Buffer.concat(came.at(-1)).equals(Buffer.concat([contents[2], contents[5]])));
});

test('a file that has grown is sent as it was announced', async (t) => {
  const { client, came } = await collecting(t);
  const place = await file(folderFor(t, {}), 'log', 'first line\n');
  const log = await FileTransfer.fs(place);
  await appendFile(place, 'second line\n');
  t.is(await client.send(upload({ files: [log] })).response(), 0);
  t.is(String(came[0][0]), 'first line\n');
});

test('what cannot be read fails its message alone', async (t) => {
  const { client, failed } = await collecting(t);
  const folder = folderFor(t, {});
  const place = await file(folder, 'gone', randomBytes(1_000));
  const gone = await FileTransfer.fs(place);
  await rm(place);
  await t.throwsAsync(client.pass(upload({ files: [gone] })), { code: 'ENOENT', message: /ENOENT: .*gone/ });
  await t.throwsAsync(client.pass(upload({ files: [await FileTransfer.fs(folder)] })), { code: 'EINVAL' });
  const shorter = await FileTransfer.fs(await file(folder, 'shorter', randomBytes(600_000)));
  await truncate(path.join(folder, 'shorter'), 300_000);
  await t.throwsAsync(client.pass(upload({ files: [shorter] })), { code: 'ERR_SOCKETY_NOT_SENT' });
  await until(() => failed.length === 3, 'the end of all of them');
  t.deepEqual(new Set(failed), new Set(['ERR_SOCKETY_ABORTED']));
  t.is(await client.send(ping()).response(), 0);
});

test('a message that is given up while its file is read ends nothing else', async (t) => {
  const { to } = await serve(
    t,
    answering((message) => {
      if (message.action === 'ping') message.accept();
    }),
  );
  const client = await to().ready();
  const large = await FileTransfer.fs(await file(folderFor(t, {}), 'large', Buffer.alloc(40_000_000)));
  const drafted = Draft.for('stalls').files().stream();
  const request = client.send(drafted({ files: [large] }));
  t.is(await client.send(ping()).response(), 0);
  const sent = t.throwsAsync(request.sent());
  request.stream.destroy();
  await sent;
  t.is(await client.send(ping()).response(), 0);
  const second = client.pass(upload({ files: [large] }));
  await client.close(true);
  await t.throwsAsync(second, { code: 'ERR_SOCKETY_CLOSED' });
});
