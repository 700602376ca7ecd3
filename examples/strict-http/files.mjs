// @ts-check
/**
 * Static files: finds the file for a path, and the part of it to send. Never opens a file outside the folder, whatever
 * the path is and wherever symbolic links lead.
 */
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import path from 'node:path';
import { HttpError } from './http-error.mjs';
import { decode } from './query.mjs';

/** @type {Readonly<Record<string, string>>} */
const TYPES = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  svg: 'image/svg+xml',
  ico: 'image/x-icon',
  pdf: 'application/pdf',
  zip: 'application/zip',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  webm: 'video/webm',
};

/**
 * The path of a target, decoded: `/a%20b?c` is `/a b`.
 * @param {string} uri
 */
export function pathOf(uri) {
  const own = uri.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '').replace(/[?#].*$/s, '');
  const decoded = decode(own, 'The path');
  if (decoded.includes('\0')) throw new HttpError(400, 'The path has a NUL.');
  return decoded;
}

/**
 * An open file below a folder.
 * @param {string} folder
 * @param {string} wanted a decoded path
 * @returns {Promise<{ handle: import('node:fs/promises').FileHandle, size: number, modified: Date, type: string } | undefined>}
 *   undefined: there is no such file
 */
export async function openFile(folder, wanted) {
  // On some systems, a backslash also separates folders.
  if (!wanted.startsWith('/') || wanted.endsWith('/') || wanted.includes('\\')) return undefined;
  const root = await realpath(folder);
  const file = path.join(root, wanted);
  if (!isBelow(root, file)) return undefined;
  // Resolve links first, so that the check applies to the file they lead to.
  const real = await realpath(file).catch(() => undefined);
  if (real === undefined || !isBelow(root, real)) return undefined;
  // Do not follow a link that was created meanwhile, and do not block on a pipe.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await open(real, flags).catch(() => undefined);
  if (handle === undefined) return undefined;
  const { size, mtime } = await handle.stat().then((stats) => (stats.isFile() ? stats : { size: -1, mtime: NEVER }));
  if (size < 0) {
    await handle.close();
    return undefined;
  }
  const extension = path.extname(file).slice(1).toLowerCase();
  const type = Object.hasOwn(TYPES, extension) ? TYPES[extension] : undefined;
  return { handle, size, modified: mtime, type: type ?? 'application/octet-stream' };
}

/** @param {string} root @param {string} file */
function isBelow(root, file) {
  return file.startsWith(root.endsWith(path.sep) ? root : root + path.sep);
}

/**
 * The answer for a file: the status, and which of its bytes, from `start` to before `end`.
 * @param {import('./request.mjs').Request} request
 * @param {{ size: number, modified: Date }} file
 */
export function selectPart({ method, headers }, { size, modified }) {
  const seconds = Math.floor(modified.getTime() / 1000);
  const etag = `"${size.toString(16)}-${modified.getTime().toString(16)}"`;
  const known = { ETag: etag, 'Last-Modified': modified.toUTCString(), 'Accept-Ranges': 'bytes' };
  if (isUnchanged(headers, etag, seconds)) return { status: 304, headers: known, start: 0, end: 0 };
  const whole = { status: 200, headers: known, start: 0, end: size };
  const condition = headers['if-range'];
  const isSame = condition === undefined || condition === etag || Date.parse(condition) === seconds * 1000;
  const range = method === 'GET' && isSame ? readRange(headers['range'], size) : undefined;
  if (range === undefined) return whole;
  if (range === 'none') {
    return { status: 416, headers: { ...known, 'Content-Range': `bytes */${size}` }, start: 0, end: 0 };
  }
  const [start, end] = range;
  return { status: 206, headers: { ...known, 'Content-Range': `bytes ${start}-${end - 1}/${size}` }, start, end };
}

/**
 * @param {Record<string, string>} headers
 * @param {string} etag
 * @param {number} seconds
 */
function isUnchanged(headers, etag, seconds) {
  const etags = headers['if-none-match'];
  if (etags !== undefined) {
    return etags.split(',').some((one) => ['*', etag].includes(one.trim().replace(/^W\//, '')));
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return !Number.isNaN(since) && seconds * 1000 <= since;
}

/**
 * @param {string | undefined} text
 * @param {number} size
 * @returns {[number, number] | 'none' | undefined} undefined: all of it
 */
function readRange(text, size) {
  const [, first = '', last = ''] = /^bytes=([0-9]*)-([0-9]*)$/.exec(text ?? '') ?? [];
  // Several ranges, and other units, get the whole file.
  if (first === '' && last === '') return undefined;
  if (first === '') return Number(last) === 0 || size === 0 ? 'none' : [Math.max(0, size - Number(last)), size];
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return 'none';
  return [Number(first), last === '' ? size : Math.min(size, Number(last) + 1)];
}

const NEVER = new Date(0);
