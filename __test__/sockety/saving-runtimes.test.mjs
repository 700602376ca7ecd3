// Files that a worker saves, in each runtime, also one that is replaced in the middle.
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { connect, Draft, FileTransfer } from '../support/millrace-sockety.mjs';
import { inEach } from '../support/runtimes.mjs';
import { told } from '../support/tcp.mjs';

const OPTIONS = {
  workerPath: fileURLToPath(new URL('../support/workers/sockety.mjs', import.meta.url)),
  threads: 1,
  ioThreads: 1,
  bind: { address: '127.0.0.1:0', protocol: 'sockety' },
};
const save = Draft.for('save').data().files();
const hang = Draft.for('hang');

/** A connection to the first listener of a server. */
async function connected(t, { addresses }) {
  const connection = connect({ host: '127.0.0.1', port: Number(new URL(`tcp://${addresses[0]}`).port) });
  connection.on('error', () => undefined);
  t.teardown(() => connection.close(true));
  return connection.ready();
}

inEach(test, 'files are saved as they are', async (t, { launch }) => {
  const client = await connected(t, await launch(OPTIONS));
  const folder = folderFor(t, {});
  const contents = [0, 10, 65_537, 3_000_000].map((length) => randomBytes(length));
  const files = contents.map((bytes, index) => FileTransfer.buffer(bytes, String(index)));
  t.is(await within(client.send(save({ data: Buffer.from(folder), files })).response(), 'the answer', 20_000), 0);
  t.deepEqual((await readdir(folder)).sort(), ['0', '1', '2', '3']);
  for (const [index, bytes] of contents.entries()) {
    t.true((await readFile(path.join(folder, String(index)))).equals(bytes), `${bytes.length} bytes`);
  }
});

/**
 * A file of which half has come, and whose worker does nothing more until it is replaced: what sends the rest, the promise that its
 * message fails, and where it is.
 */
async function halfSaved(t, launch, workerTimeoutMs) {
  const server = await launch({ ...OPTIONS, limits: { workerTimeoutMs } }, { patient: false });
  const [client, other] = [await connected(t, server), await connected(t, server)];
  const folder = folderFor(t, {});
  const source = new Readable({ read: () => undefined });
  t.teardown(() => source.destroy());
  source.push(Buffer.alloc(100_000));
  const files = [FileTransfer.stream(source, 200_000, 'named')];
  const failed = t.throwsAsync(client.send(save({ data: Buffer.from(folder), files })).response());
  const [name] = await until(async () => {
    const names = await readdir(folder);
    return names.length > 0 && names;
  }, 'a temporary file');
  t.not(name, 'named');
  other.pass(hang()).catch(() => undefined);
  await told(server, 'hangs');
  return { source, failed, folder, file: path.join(folder, name) };
}

inEach(test, 'a worker that is replaced leaves nothing of files that were being saved', async (t, { launch }) => {
  const { failed, folder } = await halfSaved(t, launch, 4000);
  await within(failed, 'the end of the connection', 60_000);
  await until(async () => (await readdir(folder)).length === 0, 'an empty folder');
});

inEach(test, 'nor of a file that came whole and had no name yet', async (t, { launch }) => {
  const { source, failed, folder, file } = await halfSaved(t, launch, 8000);
  source.push(Buffer.alloc(100_000));
  source.push(null);
  await until(async () => (await stat(file)).size === 200_000, 'all of it');
  await within(failed, 'the end of the connection', 60_000);
  await until(async () => (await readdir(folder)).length === 0, 'an empty folder');
});
