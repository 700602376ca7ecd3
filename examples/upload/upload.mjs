// @ts-check
/**
 * Sends files to the upload example's server: `node examples/upload/upload.mjs FILE...`. Shows the progress, and ends
 * with exit code 0 only if the server has every byte.
 *
 * --port 7001         where the server listens
 * --host 127.0.0.1
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { connect, Draft, FastReply, FileTransfer } from 'millrace/sockety';
import { printable } from './printable.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string', default: '7001' }, host: { type: 'string', default: '127.0.0.1' } },
});
if (positionals.length === 0) {
  console.error('Usage: node examples/upload/upload.mjs [--port 7001] [--host 127.0.0.1] FILE...');
  process.exit(2);
}

const store = Draft.for('store').files();
const { stderr } = process;
let totalBytes = 0;
let sentBytes = 0;
let shownPercent = -1;

try {
  await upload(await Promise.all(positionals.map(fileOf)));
} catch (error) {
  console.error(printable(`Upload failed: ${/** @type {Error} */ (error).message}`));
  process.exitCode = 1;
}

/**
 * @typedef {{ transfer: FileTransfer, hash: import('node:crypto').Hash }} Outgoing
 * @param {string} file
 * @returns {Promise<Outgoing>}
 */
async function fileOf(file) {
  const stats = await stat(file);
  if (!stats.isFile()) throw new Error(`${file} is no file`);
  totalBytes += stats.size;
  const hash = createHash('sha256');
  // FileTransfer.fs(file) would be simpler, but does not report progress.
  return { transfer: FileTransfer.stream(Readable.from(read(file, hash)), stats.size, path.basename(file)), hash };
}

/**
 * A file's bytes, as fast as the server takes them. The file is opened when its turn comes.
 * @param {string} file
 * @param {import('node:crypto').Hash} hash
 */
async function* read(file, hash) {
  for await (const piece of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    hash.update(piece);
    yield piece;
    sentBytes += piece.length;
    showProgress();
  }
}

/** @param {Outgoing[]} outgoing */
async function upload(outgoing) {
  const connection = connect({ port: Number(values.port), host: values.host });
  try {
    await connection.ready();
    const request = connection.send(store({ files: outgoing.map(({ transfer }) => transfer) }));
    const answer = request.response();
    // A server that refuses answers before everything is sent.
    await check(await Promise.race([answer, request.sent().then(() => answer)]), outgoing);
    await connection.close();
  } finally {
    // If something went wrong, the rest is not sent.
    await connection.close(true);
  }
}

/**
 * Compares the files that the server has stored with those that were read here.
 * @param {import('millrace/sockety').Response | number} answer
 * @param {Outgoing[]} outgoing
 */
async function check(answer, outgoing) {
  if (typeof answer === 'number') throw new Error(`the server answers ${FastReply[answer] ?? answer}`);
  const stored = /** @type {import('./store.mjs').Stored[]} */ (await answer.msgpack());
  for (const [index, { transfer, hash }] of outgoing.entries()) {
    const { name, size, sha256 } = stored[index] ?? {};
    if (size !== transfer.size || sha256 !== hash.digest('hex')) throw new Error(`${transfer.name} arrived damaged`);
    console.log(printable(`${transfer.name}: stored as ${name}, ${size} bytes, sha256 ${sha256}`));
  }
}

/** Updates a line on a terminal; elsewhere, prints a line for each ten percent. */
function showProgress() {
  const step = stderr.isTTY ? 1 : 10;
  const percent = Math.floor((100 / step) * (sentBytes / totalBytes)) * step;
  if (percent === shownPercent) return;
  shownPercent = percent;
  if (stderr.isTTY) stderr.write(`\r${percent} %${percent === 100 ? '\n' : ''}`);
  else stderr.write(`${percent} %\n`);
}
