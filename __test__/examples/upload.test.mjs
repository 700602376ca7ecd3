// The upload example: files arrive whole, under safe names, or not at all.
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { folderFor } from '../support/files.mjs';
import { connect, Draft, FastReply, FileTransfer } from '../support/millrace-sockety.mjs';

const store = Draft.for('store').files();
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** A server that stores into the folder `a/b` of one that is removed with the test. */
async function serve(t, ...args) {
  const root = folderFor(t, {});
  const folder = path.join(root, 'a', 'b');
  const all = ['--port', '0', '--folder', folder, ...args];
  const server = await Example.start('examples/upload/server.mjs', all, {}, /^Upload example: (\S+:\d+), into /m);
  t.teardown(() => server.kill());
  const port = server.url.split(':').at(-1);
  const open = async () => {
    const connection = connect(Number(port), '127.0.0.1');
    t.teardown(() => connection.close(true));
    return connection.ready();
  };
  return { server, root, folder, port, open };
}

const upload = (t, port, ...files) => Example.run(t, 'examples/upload/upload.mjs', ['--port', port, ...files]);

test('files arrive as they are, with progress', async (t) => {
  const { server, folder, port } = await serve(t);
  const contents = { 'large.bin': randomBytes(3_000_000), 'small ü.txt': Buffer.from('hello'), empty: Buffer.alloc(0) };
  const source = folderFor(t, contents);
  const names = Object.keys(contents);
  const { code, output } = await upload(t, port, ...names.map((name) => path.join(source, name)));
  t.is(code, 0, output);
  for (const name of names) {
    t.true(contents[name].equals(await readFile(path.join(folder, name))), name);
    t.true(
      output.includes(`${name}: stored as ${name}, ${contents[name].length} bytes, sha256 ${sha256(contents[name])}`),
    );
  }
  t.deepEqual((await readdir(folder)).toSorted(), names.toSorted());
  const percents = [...output.matchAll(/^(\d+) %$/gm)].map(([, percent]) => Number(percent));
  t.is(percents.at(-1), 100);
  t.true(percents.length > 3, output);
  t.deepEqual(
    percents,
    percents.toSorted((a, b) => a - b),
  );
  t.is(await server.end(), ended());
});

test('a name leads nowhere else', async (t) => {
  const { server, root, folder, open } = await serve(t);
  const connection = await open();
  const names = ['../../x', '..', '/etc/y\x1b[2J', '.hidden', 'c:\\con.txt', 'x\u202e'];
  const files = names.map((name) => FileTransfer.buffer(Buffer.from(name), name));
  const answer = await connection.send(store({ files })).response();
  const stored = await answer.msgpack();
  t.deepEqual(
    stored.map(({ name }) => name),
    ['x', 'file', 'y[2J', 'hidden', '_con.txt', 'x\u202e'],
  );
  for (const [index, { name, size, sha256: hash }] of stored.entries()) {
    const bytes = await readFile(path.join(folder, name));
    t.deepEqual([String(bytes), size, hash], [names[index], bytes.length, sha256(bytes)]);
  }
  t.deepEqual(await readdir(root), ['a']);
  t.deepEqual(await readdir(path.join(root, 'a')), ['b']);
  t.is((await readdir(folder)).length, names.length);
  await server.printed('x\ufffd: 4 bytes');
  for (const mark of ['\x1b', '\u202e']) t.false(server.output.includes(mark));
});

test('refused uploads leave nothing behind', async (t) => {
  const { folder, port, open } = await serve(t, '--max-mib', '1');
  const source = folderFor(t, { 'a/same': '1', 'b/Same': '2', large: randomBytes(1024 * 1024 + 1) });
  const twice = await upload(t, port, path.join(source, 'a/same'), path.join(source, 'b/Same'));
  t.is(twice.code, 1);
  t.regex(twice.output, /Upload failed: the server answers InternalError/);
  const large = await upload(t, port, path.join(source, 'large'));
  t.is(large.code, 1);
  t.regex(large.output, /Upload failed: the server answers BadRequest/);
  const missing = await upload(t, port, path.join(source, 'nothing'));
  t.is(missing.code, 1);
  t.regex(missing.output, /Upload failed: ENOENT/);
  t.is((await upload(t, port)).code, 2);
  const connection = await open();
  t.is(await connection.send(store({ files: [] })).response(), FastReply.BadRequest);
  t.is(await connection.send(Draft.for('remove').data('x')()).response(), FastReply.NotImplemented);
  t.deepEqual(await readdir(folder), []);
});

test('an interrupted upload leaves nothing behind, and the server continues', async (t) => {
  const { server, folder, port, open } = await serve(t);
  for (const breakOff of [
    (stream) => stream.destroy(new Error('gone')),
    (_stream, connection) => connection.close(true),
  ]) {
    const connection = await open();
    const stream = new PassThrough();
    stream.write(Buffer.alloc(1000));
    const files = [FileTransfer.buffer(Buffer.from('whole'), 'whole'), FileTransfer.stream(stream, 2000, 'half')];
    const request = connection.send(store({ files }));
    await until(async () => (await readdir(folder)).length === 2, 'two temporary files');
    t.true((await readdir(folder)).every((name) => name.endsWith('.part')));
    breakOff(stream, connection);
    await t.throwsAsync(request.sent());
    await until(async () => (await readdir(folder)).length === 0, 'an empty folder');
  }
  const { code, output } = await upload(t, port, path.resolve('LICENSE'));
  t.is(code, 0, output);
  t.is(await server.end(), ended());
});

test('a server that is stopped while files come leaves nothing', async (t) => {
  const { server, folder, open } = await serve(t);
  const connection = await open();
  const stream = new PassThrough();
  stream.write(Buffer.alloc(1000));
  const request = connection.send(store({ files: [FileTransfer.stream(stream, 2000, 'half')] }));
  await until(async () => (await readdir(folder)).length === 1, 'a temporary file');
  t.is(await server.end(), ended());
  await t.throwsAsync(request.sent());
  // on Windows nothing asks it to end
  if (process.platform !== 'win32') t.deepEqual(await readdir(folder), []);
});
