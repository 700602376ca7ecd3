// Static files: conditional requests (RFC 9110, section 13) and ranges (section 14).
import { utimesSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { makeFolder, removeFolder, requestsTo } from '../support/files.mjs';
import { exchange } from '../support/http.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const DIGITS = '0123456789';
const LARGE = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7) % 251));
const folder = makeFolder({ 'digits.txt': DIGITS, 'large.bin': LARGE, 'empty.txt': '' });
const THEN = new Date('2020-02-03T04:05:06.789Z');
utimesSync(path.join(folder, 'digits.txt'), THEN, THEN);
test.after.always(() => removeFolder(folder));

const DATE = 'Mon, 03 Feb 2020 04:05:06 GMT';
const BEFORE = 'Mon, 03 Feb 2020 04:05:05 GMT';
const AFTER = 'Mon, 03 Feb 2020 04:05:07 GMT';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1, static: folder });
const get = requestsTo(server);
const etagOf = async (target) => (await get(target)).headers.etag;

const CONDITIONS = [
  ['If-None-Match', (etag) => etag, 304],
  ['If-None-Match', (etag) => `W/${etag}`, 304],
  ['If-None-Match', (etag) => `"x", ${etag}`, 304],
  ['If-None-Match', () => '*', 304],
  ['If-None-Match', () => '"x"', 200],
  ['If-Modified-Since', () => DATE, 304],
  ['If-Modified-Since', () => AFTER, 304],
  ['If-Modified-Since', () => BEFORE, 200],
  ['If-Modified-Since', () => 'Monday, 03-Feb-20 04:05:06 GMT', 304],
  ['If-Modified-Since', () => 'Mon Feb  3 04:05:06 2020', 304],
  ['If-Modified-Since', () => 'yesterday', 200],
  ['If-Match', (etag) => etag, 200],
  ['If-Match', () => '*', 200],
  ['If-Match', (etag) => `W/${etag}`, 412],
  ['If-Match', () => '"x"', 412],
  ['If-Unmodified-Since', () => DATE, 200],
  ['If-Unmodified-Since', () => BEFORE, 412],
  ['If-Unmodified-Since', () => 'never', 200],
];
for (const [name, value, status] of CONDITIONS) {
  test(`${name}: ${value('<etag>')} is ${status}`, async (t) => {
    const etag = await etagOf('/digits.txt');
    for (const method of ['GET', 'HEAD']) {
      const answer = await get('/digits.txt', { method, headers: { [name]: value(etag) } });
      t.is(answer.status, status);
      t.is(answer.text, status === 200 && method === 'GET' ? DIGITS : '');
      t.is(answer.headers.etag, etag);
      t.is(answer.headers['last-modified'], DATE);
      if (status === 304) {
        t.is(answer.headers['content-type'], undefined);
        t.is(answer.headers['content-length'], undefined);
        t.is(answer.headers['cache-control'], 'no-cache');
      }
    }
  });
}

test('an entity tag goes before a date, and If-Match before If-None-Match', async (t) => {
  const etag = await etagOf('/digits.txt');
  const statusOf = async (headers) => (await get('/digits.txt', { headers })).status;
  t.is(await statusOf({ 'If-None-Match': '"x"', 'If-Modified-Since': AFTER }), 200);
  t.is(await statusOf({ 'If-Match': etag, 'If-Unmodified-Since': BEFORE }), 200);
  t.is(await statusOf({ 'If-Match': '"x"', 'If-None-Match': etag }), 412);
  t.is(await statusOf({ 'If-Match': etag, 'If-None-Match': etag }), 304);
});

test('the connection stays usable after an answer without its body', async (t) => {
  const etag = await etagOf('/large.bin');
  const { status, headers } = await exchange(
    server.addresses[0],
    Buffer.from(`GET /large.bin HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${etag}\r\n\r\n`),
  );
  t.is(status, 304);
  t.is(headers['transfer-encoding'], undefined);
});

for (const [range, contentRange, text] of [
  ['bytes=0-3', 'bytes 0-3/10', '0123'],
  ['bytes=9-', 'bytes 9-9/10', '9'],
  ['bytes=-4', 'bytes 6-9/10', '6789'],
  ['bytes=5-99', 'bytes 5-9/10', '56789'],
  ['bytes=-99', 'bytes 0-9/10', DIGITS],
  ['bytes=2-99999999999999999999999', 'bytes 2-9/10', '23456789'],
]) {
  test(`Range: ${range} is ${contentRange}`, async (t) => {
    const answer = await get('/digits.txt', { headers: { Range: range } });
    t.is(answer.status, 206);
    t.is(answer.headers['content-range'], contentRange);
    t.is(answer.headers['content-length'], String(text.length));
    t.is(answer.text, text);
  });
}

for (const range of ['bytes=10-', 'bytes=99-100', 'bytes=-0']) {
  test(`Range: ${range} is 416`, async (t) => {
    const answer = await get('/digits.txt', { headers: { Range: range } });
    t.is(answer.status, 416);
    t.is(answer.headers['content-range'], 'bytes */10');
    t.is(answer.text, '');
  });
}

for (const range of ['bytes=0-1,4-5', 'bytes=4-1', 'bytes=a-b', 'lines=0-1', 'bytes', 'bytes=-', 'bytes=0-1, ']) {
  test(`Range: ${range} is the whole file`, async (t) => {
    const answer = await get('/digits.txt', { headers: { Range: range } });
    t.is(answer.status, 200);
    t.is(answer.headers['content-range'], undefined);
    t.is(answer.text, DIGITS);
  });
}

test('a range of a large file comes from the disk', async (t) => {
  for (const [first, last] of [
    [0, 0],
    [65_535, 65_536],
    [1, 150_000],
    [199_999, 199_999],
  ]) {
    const answer = await get('/large.bin', { headers: { Range: `bytes=${first}-${last}` } });
    t.is(answer.status, 206);
    t.deepEqual(answer.bytes, LARGE.subarray(first, last + 1));
  }
});

test('a range counts only for GET, and an empty file has none', async (t) => {
  const head = await get('/digits.txt', { method: 'HEAD', headers: { Range: 'bytes=0-1' } });
  t.is(head.status, 200);
  t.is(head.headers['content-length'], '10');
  t.is((await get('/empty.txt', { headers: { Range: 'bytes=0-' } })).status, 416);
});

test('If-Range: another version is sent whole', async (t) => {
  const etag = await etagOf('/digits.txt');
  for (const [value, status] of [
    [etag, 206],
    [`W/${etag}`, 200],
    ['"x"', 200],
    [DATE, 206],
    [BEFORE, 200],
    [AFTER, 200],
    ['nonsense', 200],
  ]) {
    const answer = await get('/digits.txt', { headers: { Range: 'bytes=0-1', 'If-Range': value } });
    t.is(answer.status, status, value);
    t.is(answer.text, status === 206 ? '01' : DIGITS);
  }
  const beyond = await get('/digits.txt', { headers: { Range: 'bytes=99-', 'If-Range': '"x"' } });
  t.is(beyond.status, 200);
  const notModified = await get('/digits.txt', { headers: { Range: 'bytes=0-1', 'If-None-Match': etag } });
  t.is(notModified.status, 304);
});
