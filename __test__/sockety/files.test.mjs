// Files of the file system that are sent over Sockety, and files that are saved: the native side reads and writes them.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { Draft, FileTransfer } from '../support/millrace-sockety.mjs';
import { answering, serve } from '../support/sockety-own.mjs';

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

test('a file that cannot be read fails only its message', async (t) => {
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

/** A server that saves the files of each message in a folder, and a client. */
async function saving(t, folder) {
  const outcomes = [];
  const { to } = await serve(
    t,
    answering(async (message) => {
      const saved = message.files.map((saves) => saves.saveTo(path.join(folder, message.action, saves.safeName)));
      for (const { status, reason } of await Promise.allSettled(saved)) outcomes.push(reason?.code ?? status);
      message.accept();
    }),
  );
  return { to, outcomes };
}

test('files are written as they are, many at the same time', async (t) => {
  const folder = folderFor(t, {});
  const { to, outcomes } = await saving(t, folder);
  const client = await to().ready();
  const contents = [0, 1, 65_535, 65_536, 65_537, 131_073, 5_000_000].map((length) => randomBytes(length));
  const requests = Array.from({ length: 10 }, (_, round) => {
    const files = contents.map((bytes, index) => FileTransfer.buffer(bytes, `${round}-${index}`));
    return client.send(Draft.for('.').files()({ files }));
  });
  await Promise.all(requests.map((request) => request.response()));
  t.deepEqual(new Set(outcomes), new Set(['fulfilled']));
  t.is((await readdir(folder)).length, 70);
  for (const name of await readdir(folder)) {
    t.true((await readFile(path.join(folder, name))).equals(contents[Number(name.split('-')[1])]), name);
  }
});

test('bytesLeft reports the progress of a saved file', async (t) => {
  const folder = folderFor(t, {});
  const seen = [];
  const { to } = await serve(
    t,
    answering(async (message) => {
      const [large] = message.files;
      const timer = setInterval(() => seen.push(large.bytesLeft), 1);
      await large.saveTo(path.join(folder, 'large'));
      clearInterval(timer);
      seen.push(large.bytesLeft);
      t.true(large.loaded);
      message.accept();
    }),
  );
  const client = await to().ready();
  const length = 30_000_000;
  t.is(await client.send(upload({ files: [FileTransfer.buffer(randomBytes(length), 'x')] })).response(), 0);
  t.is(seen.at(-1), 0);
  t.true(seen.some((left) => left > 0 && left < length));
  t.is((await stat(path.join(folder, 'large'))).size, length);
});

test('an interrupted file leaves nothing behind, whatever the cause', async (t) => {
  const folder = folderFor(t, {});
  const { to, outcomes } = await saving(t, folder);
  const client = await to().ready();
  const part = randomBytes(1_000_000);
  const broken = () => FileTransfer.stream(Readable.from([part]), 2_000_000, 'broken');
  await t.throwsAsync(client.pass(Draft.for('.').files()({ files: [broken()] })));
  await until(() => outcomes.length === 1, 'the first');
  const whole = FileTransfer.buffer(part, 'whole');
  t.is(await client.send(Draft.for('no such folder').files()({ files: [whole] })).response(), 0);
  const halves = (async function* halves() {
    yield part;
    await until(async () => (await readdir(folder)).length === 1, 'its beginning');
    client.close(true);
    yield part;
  })();
  const cut = FileTransfer.stream(Readable.from(halves), 2_000_000, 'cut');
  await t.throwsAsync(client.pass(Draft.for('.').files()({ files: [cut] })));
  await until(() => outcomes.length === 3, 'the last');
  t.deepEqual(outcomes, ['ERR_SOCKETY_ABORTED', 'ENOENT', 'ERR_SOCKETY_CLOSED']);
  t.deepEqual(await readdir(folder), []);
});

/** Calls `handle` with the file of the message that `send` sends, and resolves with what it returns. */
async function withFile(t, handle, file) {
  const outcome = deferred();
  const { to } = await serve(
    t,
    answering((message) => {
      outcome.resolve(handle(message.files[0], message));
    }),
  );
  const client = await to().ready();
  client.pass(upload({ files: [file] })).catch(() => undefined);
  return within(outcome.promise, 'the outcome');
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** So many bytes, the first of them only once `begin` has resolved. */
const late = (bytes, begin) =>
  FileTransfer.stream(
    (async function* pieces() {
      await begin;
      yield bytes;
    })(),
    bytes.length,
    'late',
  );

test('a file that a reader waits for is written whole', async (t) => {
  const folder = folderFor(t, {});
  const bytes = randomBytes(3_000_000);
  const asked = deferred();
  const target = path.join(folder, 'whole');
  await withFile(
    t,
    async (file) => {
      file.on('readable', () => undefined);
      file.read();
      setImmediate(asked.resolve);
      await file.saveTo(target);
    },
    late(bytes, asked.promise),
  );
  t.true((await readFile(target)).equals(bytes));
});

test('a file that is read or saved already is not saved', async (t) => {
  const folder = folderFor(t, {});
  const bytes = randomBytes(1_000_000);
  const target = path.join(folder, 'whole');
  const codes = await withFile(
    t,
    async (file) => {
      const first = file.saveTo(target);
      const others = await Promise.allSettled([file.saveTo(target), file.saveTo(path.join(folder, 'other'))]);
      await first;
      return [...others, ...(await Promise.allSettled([file.saveTo(target)]))].map(({ reason }) => reason?.code);
    },
    FileTransfer.buffer(bytes, 'x'),
  );
  t.deepEqual(codes, Array(3).fill('ERR_SOCKETY_READ'));
  t.true((await readFile(target)).equals(bytes));
  const code = await withFile(
    t,
    async (file) => {
      await once(file, 'readable');
      file.read();
      return file.saveTo(path.join(folder, 'rest')).catch((error) => error.code);
    },
    FileTransfer.buffer(bytes, 'x'),
  );
  t.is(code, 'ERR_SOCKETY_READ');
  t.deepEqual(await readdir(folder), ['whole']);
});

for (const [how, stop] of Object.entries({
  'its message is discarded': (_file, message) => message.discard(),
  'it is destroyed': (file) => file.destroy(),
})) {
  test(`nothing is left of a file where ${how} while it is saved`, async (t) => {
    const folder = folderFor(t, {});
    const never = new Promise(() => undefined);
    const halves = (async function* halves() {
      yield randomBytes(1_000_000);
      await never;
    })();
    const code = await withFile(
      t,
      async (file, message) => {
        const saved = file.saveTo(path.join(folder, 'x')).catch((error) => error.code);
        await until(() => file.bytesLeft < 1_500_000, 'its beginning');
        stop(file, message);
        return saved;
      },
      FileTransfer.stream(Readable.from(halves), 2_000_000, 'half'),
    );
    t.is(code, 'ERR_SOCKETY_ABORTED');
    t.deepEqual(await readdir(folder), []);
  });
}

test('discarded contents are neither saved nor read', async (t) => {
  const folder = folderFor(t, { kept: 'as it was' });
  const data = randomBytes(3_000_000);
  const codes = [];
  const { to } = await serve(
    t,
    answering(async (message) => {
      const [file] = message.files;
      const reading = message.dataBuffer();
      const streaming = file.toArray();
      message.discard();
      const all = [reading, streaming, file.saveTo(path.join(folder, 'kept'))];
      for (const { reason } of await Promise.allSettled(all)) codes.push(reason?.code);
      message.accept();
    }),
  );
  const client = await to().ready();
  const draft = Draft.for('both').data().files();
  t.is(await client.send(draft({ data, files: [FileTransfer.buffer(data, 'x')] })).response(), 0);
  t.deepEqual(codes, Array(3).fill('ERR_SOCKETY_ABORTED'));
  t.is(await readFile(path.join(folder, 'kept'), 'utf8'), 'as it was');
});

test('streams of files that cannot be sent are destroyed, whether they had begun or not', async (t) => {
  const { to } = await serve(t);
  const client = await to({ maxWritableChannels: 1 }).ready();
  const source = (bytes) => {
    const stream = new Readable({ read: () => undefined });
    if (bytes > 0) stream.push(Buffer.alloc(bytes));
    return stream;
  };
  const sent = (...streams) =>
    client.pass(upload({ files: streams.map((stream) => FileTransfer.stream(stream, 100, 'x')) }));
  // more than was announced; another one of that message had no turn
  const [long, behind] = [source(101), source(0)];
  await t.throwsAsync(sent(long, behind), { code: 'ERR_SOCKETY_NOT_SENT' });
  t.deepEqual([long.destroyed, behind.destroyed], [true, true]);
  // one that never goes on, and a message that waits for its channel
  const other = await to({ maxWritableChannels: 1 }).ready();
  const [stalled, waits] = [source(1), source(1)];
  const both = [stalled, waits].map((stream) => other.pass(upload({ files: [FileTransfer.stream(stream, 100, 'x')] })));
  await until(() => stalled.readableLength === 0, 'the first byte to be on its way');
  other.close(true);
  for (const one of both) await t.throwsAsync(one, { code: 'ERR_SOCKETY_CLOSED' });
  t.deepEqual([stalled.destroyed, waits.destroyed], [true, true]);
});

test.serial('files that are only announced take no descriptors', async (t) => {
  const folder = folderFor(t, {});
  const descriptors = async () => (existsSync('/proc/self/fd') ? (await readdir('/proc/self/fd')).length : 0);
  const never = (async function* never() {
    yield await new Promise(() => undefined);
  })();
  const files = Array.from({ length: 5000 }, () => FileTransfer.stream(never, 1, 'x'));
  const before = await descriptors();
  let saved;
  const { server, to } = await serve(
    t,
    answering((message) => {
      saved = message.files.map((one, index) => one.saveTo(path.join(folder, String(index))));
    }),
  );
  const client = await to().ready();
  client.pass(upload({ files })).catch(() => undefined);
  await until(() => saved !== undefined, 'the message');
  await server.broadcast(ping());
  t.true((await descriptors()) < before + 100);
  t.deepEqual(await readdir(folder), []);
  client.close(true);
  const outcomes = await Promise.allSettled(saved);
  t.deepEqual([...new Set(outcomes.map(({ reason }) => reason?.code))], ['ERR_SOCKETY_CLOSED']);
});

test('if a file cannot be saved, the error says why', async (t) => {
  const folder = folderFor(t, { there: 'x' });
  const whole = FileTransfer.buffer(randomBytes(200_000), 'x');
  const save = (target) => withFile(t, (one) => one.saveTo(target).catch((error) => error), whole);
  const named = await save(path.join(folder, 'x'.repeat(240)));
  t.is(named, undefined);
  const gone = await save(path.join(folder, 'gone', 'x'));
  t.is(gone.code, 'ENOENT');
  const isFolder = await save(folder);
  t.is(isFolder.code, 'EISDIR');
  t.is(isFolder.path, folder);
  for (const target of ['', 5, undefined]) {
    const error = await save(target);
    t.true(error instanceof TypeError);
    t.regex(error.message, /'path'/);
  }
  t.is((await readdir(folder)).length, 2);
});
