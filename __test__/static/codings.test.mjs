// Static files: siblings that are compressed already, sent to clients that accept them.
import { utimesSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';

import { makeFolder, removeFolder, request, requestsTo } from '../support/files.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const TEXT = 'millrace '.repeat(100);
const LARGE = 'wheel '.repeat(50_000);
// nothing here can make zstd; its bytes are only passed on
const ZSTD = Buffer.from('28b52ffd stands for it');
const folder = makeFolder({
  'all.js': TEXT,
  'all.js.br': brotliCompressSync(TEXT),
  'all.js.gz': gzipSync(TEXT),
  'all.js.zst': ZSTD,
  'gzip.css': TEXT,
  'gzip.css.gz': gzipSync(TEXT),
  'plain.txt': TEXT,
  'old.js': TEXT,
  'old.js.gz': gzipSync('an earlier version'),
  'alone.js.gz': gzipSync(TEXT),
  'large.js': LARGE,
  'large.js.gz': gzipSync(LARGE),
  'docs/index.html': 'page',
  'docs/index.html.gz': gzipSync('page'),
});
const HOUR_AGO = new Date(Date.now() - 3_600_000);
utimesSync(path.join(folder, 'old.js.gz'), HOUR_AGO, HOUR_AGO);
test.after.always(() => removeFolder(folder));

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1, static: folder });
const get = requestsTo(server);
const accepting = (target, accept) =>
  get(target, { headers: accept === undefined ? {} : { 'Accept-Encoding': accept } });

for (const [accept, coding] of [
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, zstd', 'zstd'],
  ['gzip', 'gzip'],
  ['GZip;Q=1.0', 'gzip'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br;q=0, gzip;q=0, *', 'zstd'],
  ['*;q=0.1', 'br'],
  ['identity;q=0.5, gzip;q=0.4', undefined],
  ['deflate, compress', undefined],
  ['*;q=0', undefined],
  ['identity;q=0', undefined],
]) {
  test(`Accept-Encoding: ${accept} gets ${coding ?? 'the file itself'}`, async (t) => {
    const { status, headers, bytes } = await accepting('/all.js', accept);
    t.is(status, 200);
    t.is(headers['content-encoding'], coding);
    t.is(headers.vary, 'accept-encoding');
    t.is(headers['content-type'], 'text/javascript; charset=utf-8');
    t.is(headers['content-length'], String(bytes.length));
    const decode = { br: brotliDecompressSync, gzip: gunzipSync, zstd: () => TEXT };
    t.is(String(coding === undefined ? bytes : decode[coding](bytes)), TEXT);
    if (coding === 'zstd') t.deepEqual(bytes, ZSTD);
  });
}

test('each coding is a version of its own', async (t) => {
  const etags = await Promise.all(
    ['br', 'gzip', 'zstd', 'identity'].map(async (accept) => (await accepting('/all.js', accept)).headers.etag),
  );
  t.is(new Set(etags).size, 4);
  const headers = { 'Accept-Encoding': 'gzip', 'If-None-Match': etags[1] };
  const again = await get('/all.js', { headers });
  t.deepEqual([again.status, again.headers.vary], [304, 'accept-encoding']);
  t.is((await get('/all.js', { headers: { ...headers, 'Accept-Encoding': 'br' } })).status, 200);
});

test('only siblings that are there are sent, and those older than their file are not', async (t) => {
  t.is((await accepting('/gzip.css', 'br, gzip;q=0.1')).headers['content-encoding'], 'gzip');
  const plain = await accepting('/plain.txt', 'gzip, br');
  t.deepEqual([plain.headers['content-encoding'], plain.headers.vary], [undefined, undefined]);
  const old = await accepting('/old.js', 'gzip');
  t.deepEqual([old.headers['content-encoding'], old.text], [undefined, TEXT]);
  t.is((await accepting('/alone.js', 'gzip')).status, 404);
});

test('a sibling asked for by name is a file', async (t) => {
  const { headers, bytes } = await accepting('/all.js.gz', 'gzip');
  t.is(headers['content-type'], 'application/gzip');
  t.is(headers['content-encoding'], undefined);
  t.is(String(gunzipSync(bytes)), TEXT);
});

test('an index has siblings too, HEAD tells of them, ranges are of the coded bytes', async (t) => {
  t.is((await accepting('/docs/', 'gzip')).headers['content-encoding'], 'gzip');
  const headers = { 'Accept-Encoding': 'gzip' };
  const whole = await get('/large.js', { headers });
  t.is(String(gunzipSync(whole.bytes)), LARGE);
  const head = await get('/large.js', { method: 'HEAD', headers });
  t.is(head.headers['content-length'], String(whole.bytes.length));
  const part = await get('/large.js', { headers: { ...headers, Range: 'bytes=2-5' } });
  t.deepEqual([part.status, part.bytes], [206, whole.bytes.subarray(2, 6)]);
  t.is((await accepting('/large.js')).text, LARGE);
});

test('precompressed: false ignores siblings', async (t) => {
  const off = await ownServer(t, {
    workerPath: worker('echo'),
    threads: 1,
    static: { directory: folder, precompressed: false },
  });
  const answer = await request(off.addresses[0], '/all.js', { headers: { 'Accept-Encoding': 'br' } });
  t.deepEqual([answer.headers['content-encoding'], answer.headers.vary, answer.text], [undefined, undefined, TEXT]);
});
