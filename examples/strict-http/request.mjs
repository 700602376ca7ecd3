// @ts-check
/** Parses one request from its first byte to its last. Has nothing to do with connections. */
import { bodyOf, lineOf } from './framing.mjs';
import { checkHost, readHeader, readRequestLine, wantsKeepAlive } from './head.mjs';
import { HttpError } from './http-error.mjs';
import { readForm, readQuery } from './query.mjs';

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string} uri the target, as it was sent
 * @property {string} protocol `HTTP/1.1`
 * @property {Record<string, string>} headers by their names in lower case
 * @property {Record<string, string>} query
 * @property {{ raw: string, contentLength: string, contentType: string, contentEncoding: string, transferEncoding: string }} body
 *   missing values are `unset`
 * @property {unknown} json null: the body is not JSON
 * @property {Record<string, string> | null} form
 * @property {boolean} hasError
 * @property {{ httpCode: number, errorMsg: string }} error with `hasError`
 * @property {boolean} keepAlive whether the connection may stay open
 */

/** Longest head, in bytes. */
const HEAD_BYTES = 16 * 1024;
const BODIES = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET'];

export class RequestReader {
  /** @type {import('./head.mjs').Head | undefined} */
  #head;
  #headBytes = 0;
  /** @type {import('./framing.mjs').Body | undefined} */
  #body;
  /** Whether any byte of it has arrived. */
  hasBegun = false;

  #mayExpect = true;

  /** Whether the head is complete, and the client waits for `100 Continue` before it sends the body. True at most once. */
  expectsContinue() {
    const waits = this.#body?.isComplete() === false && this.#head?.headers['expect']?.toLowerCase() === '100-continue';
    const expects = waits && this.#mayExpect && this.#head?.version === '1.1';
    this.#mayExpect &&= !waits;
    return expects;
  }

  /**
   * Takes the bytes that belong to this request, and returns their number.
   * @param {Buffer} bytes
   */
  take(bytes) {
    let at = 0;
    while (this.#body === undefined) {
      const line = lineOf(bytes.subarray(at), HEAD_BYTES - this.#headBytes);
      if (line === undefined) {
        if (bytes.length > at) this.hasBegun = true;
        return at;
      }
      at += line.length + 2;
      this.#headBytes += line.length + 2;
      this.#readLine(line);
    }
    return at + this.#body.take(bytes.subarray(at));
  }

  /** @param {string} line of the head */
  #readLine(line) {
    if (this.#head === undefined) {
      // Old clients send an empty line after a body.
      if (line === '' && this.#headBytes === 2) return;
      this.hasBegun = true;
      this.#head = readRequestLine(line);
    } else if (line === '') {
      checkHost(this.#head);
      this.#body = bodyOf(this.#head.headers);
    } else {
      readHeader(this.#head, line);
    }
  }

  /**
   * The request, once it is complete.
   * @returns {Request | undefined}
   */
  request() {
    if (this.#head === undefined || !this.#body?.isComplete()) return undefined;
    const request = this.#described(this.#body.contents());
    try {
      readContents(request);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      fail(request, error);
    }
    return request;
  }

  /**
   * A request that is so malformed that its end is unknown: the parts that are known.
   * @param {HttpError} error
   * @returns {Request}
   */
  broken(error) {
    const request = this.#described(Buffer.alloc(0));
    request.keepAlive = false;
    return fail(request, error);
  }

  /** @param {Buffer} contents @returns {Request} */
  #described(contents) {
    const { method = '-', uri = '-', version = '1.1', headers = {} } = this.#head ?? {};
    // With both a coding and a length, or with a coding that the version does not have, other programs may see another
    // end of the body.
    const isDoubtful = 'transfer-encoding' in headers && ('content-length' in headers || version !== '1.1');
    return {
      method,
      uri,
      protocol: `HTTP/${version}`,
      headers,
      query: {},
      body: {
        raw: BODIES.includes(method) ? contents.toString() : '',
        contentLength: headers['content-length'] ?? UNSET,
        contentType: headers['content-type'] ?? UNSET,
        contentEncoding: headers['content-encoding'] ?? UNSET,
        transferEncoding: headers['transfer-encoding'] ?? UNSET,
      },
      json: null,
      form: null,
      hasError: false,
      error: { httpCode: 0, errorMsg: '' },
      keepAlive: this.#head !== undefined && wantsKeepAlive(this.#head) && !isDoubtful,
    };
  }
}

/** @param {Request} request gets its query, JSON and form */
function readContents(request) {
  const { uri, body } = request;
  const mark = uri.indexOf('?');
  if (mark >= 0) request.query = readQuery(uri.slice(mark + 1).replace(/#.*$/, ''));
  if (body.contentType.includes('application/json')) request.json = readJson(body.raw);
  if (body.contentType.includes('application/x-www-form-urlencoded')) request.form = readForm(body.raw);
}

/** @param {string} text */
function readJson(text) {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError(400, 'The body is no JSON.');
  }
}

/** @param {Request} request @param {HttpError} error @returns {Request} */
function fail(request, { status, message }) {
  request.hasError = true;
  request.error = { httpCode: status, errorMsg: message };
  return request;
}

const UNSET = 'unset';
