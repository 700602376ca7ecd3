// @ts-check
/** Chooses the answer to a request: a file, a page, JSON, or an error. Does not write it. */
import { openFile, pathOf, selectPart } from './files.mjs';
import { HttpError } from './http-error.mjs';
import { errorPage, list, page, ROUTES } from './pages.mjs';

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, string>} headers
 * @property {Buffer} [body]
 * @property {{ handle: import('node:fs/promises').FileHandle, start: number, end: number }} [file] the sender closes it
 * @property {boolean} [close] whether the connection ends after it
 */

/** @param {string} folder of the static files @param {() => { connections: number, requests: number }} counts */
export function router(folder, counts) {
  /** @param {import('./request.mjs').Request} request @returns {Promise<Answer>} */
  return async (request) => {
    if (request.hasError) return problem(request, request.error.httpCode, request.error.errorMsg);
    try {
      const path = pathOf(request.uri);
      return (await fileAnswer(folder, path, request)) ?? pageAnswer(path, request, counts());
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return problem(request, error.status, error.message);
    }
  };
}

/**
 * @param {string} folder
 * @param {string} path
 * @param {import('./request.mjs').Request} request
 * @returns {Promise<Answer | undefined>} undefined: there is no such file
 */
async function fileAnswer(folder, path, request) {
  const found = await openFile(folder, path);
  if (found === undefined) return undefined;
  const { status, headers, start, end } = selectPart(request, found);
  const { handle, type } = found;
  const all = status === 416 ? headers : { 'Content-Type': type, ...headers };
  return { status, headers: all, file: { handle, start, end } };
}

/**
 * @param {string} path
 * @param {import('./request.mjs').Request} request
 * @param {{ connections: number, requests: number }} counts
 * @returns {Answer}
 */
function pageAnswer(path, request, { connections, requests }) {
  switch (path) {
    case '/':
      return html(200, page('Strict HTTP', `<p>A server on raw TCP.</p>${list(ROUTES)}`));
    case '/about':
      return html(200, page('About', '<p>It takes what RFC 9112 allows, and says what it does not take.</p>'));
    case '/status':
      return html(200, page('Status', list([`connections: ${connections}`, `requests: ${requests}`])));
    case '/api/echo':
      return json(200, echo(request));
    default:
      return problem(request, 404, request.uri);
  }
}

/** @param {import('./request.mjs').Request} request */
function echo({ method, uri, query, headers, body: { raw, contentType, contentLength }, json, form }) {
  return { method, uri, query, headers, body: { raw, contentType, contentLength }, json, form };
}

/**
 * An error as HTML, for clients that accept it, or else as text. After a 404 the connection may stay open.
 * @param {import('./request.mjs').Request} request
 * @param {number} status
 * @param {string} message
 * @returns {Answer}
 */
export function problem({ headers }, status, message) {
  const close = status !== 404;
  const accept = headers['accept'] ?? '*/*';
  if (/text\/(html|\*)|\*\/\*/.test(accept)) return { ...html(status, errorPage(status, message)), close };
  return { status, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: Buffer.from(`${message}\n`), close };
}

/** @param {number} status @param {string} text @returns {Answer} */
function html(status, text) {
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body: Buffer.from(text) };
}

/** @param {number} status @param {unknown} value @returns {Answer} */
function json(status, value) {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return { status, headers: { 'Content-Type': 'application/json; charset=utf-8' }, body };
}
