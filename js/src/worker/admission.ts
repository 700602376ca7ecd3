/** The request that `handleOpen` gets, and the meaning of its answers. Sends nothing to a connection. */

import type { Data } from '../gateway/target.js';
import { readable } from '../log/report.js';
import type { ClientCertificate, OpenRequest, Transport } from './open-request.js';
import type { Opening } from './record.js';
import { NO_TOKEN, type StoredToken, storedToken } from './token.js';

/** A checked answer. `headers` holds names and values, alternating. */
export type Answer =
  | {
      accepted: true;
      protocol: string | undefined;
      token: StoredToken;
      headers: string[];
      limitKey: string | undefined;
      compress: boolean;
    }
  | { accepted: false; status: number; headers: string[]; body: Data | undefined };

/** The answer that accepts a connection without anything else. */
export const WELCOME: Answer = {
  accepted: true,
  protocol: undefined,
  token: NO_TOKEN,
  headers: [],
  limitKey: undefined,
  compress: true,
};

/** The answer if `handleOpen` returned `false`. */
export const REFUSED: Answer = { accepted: false, status: 403, headers: [], body: 'Connection rejected' };

/** The answer if `handleOpen` failed. */
export const FAILED: Answer = {
  accepted: false,
  status: 500,
  headers: [],
  body: 'Internal server error (open handler)',
};

/** The request in the form that `handleOpen` gets. */
export class Request implements OpenRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly transport: Transport;
  readonly port: number;
  readonly encrypted: boolean;
  readonly clientCertificate: ClientCertificate | undefined;
  #query: URLSearchParams | undefined;
  #protocols: readonly string[] | undefined;

  constructor(opening: Opening) {
    this.url = opening.target;
    this.headers = opening.headers;
    this.transport = opening.transport;
    this.port = opening.port;
    this.encrypted = opening.encrypted;
    this.clientCertificate = opening.certificate;
  }

  get path(): string {
    const query = this.url.indexOf('?');
    return query < 0 ? this.url : this.url.slice(0, query);
  }

  get query(): URLSearchParams {
    if (this.#query === undefined) {
      const start = this.url.indexOf('?');
      this.#query = new URLSearchParams(start < 0 ? '' : this.url.slice(start + 1));
    }
    return this.#query;
  }

  get protocols(): readonly string[] {
    this.#protocols ??= (this.headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    return this.#protocols;
  }
}

/**
 * Reads what `handleOpen` returned.
 *
 * @throws {TypeError} if the answer is a rejection or acceptance that cannot be sent
 */
export function readAnswer(result: unknown, request: OpenRequest): Answer {
  if (result === false) return REFUSED;
  if (typeof result !== 'object' || result === null) return WELCOME;
  const answer = result as Record<string, unknown>;
  return answer['status'] === undefined ? readAcceptance(answer, request) : readRejection(answer);
}

function readAcceptance(answer: Record<string, unknown>, request: OpenRequest): Answer {
  const { protocol, token, headers, limitKey, compress = true } = answer;
  if (protocol !== undefined && (typeof protocol !== 'string' || !request.protocols.includes(protocol))) {
    throw new TypeError(
      `handleOpen: 'protocol' must be one that the client offers (${request.protocols.join(', ') || 'none'}), not ${readable(protocol)}`,
    );
  }
  if (typeof compress !== 'boolean') {
    throw new TypeError(`handleOpen: 'compress' must be true or false, not ${readable(compress)}`);
  }
  return {
    accepted: true,
    protocol,
    token: storedToken(token, "handleOpen: 'token'"),
    headers: readHeaders(headers),
    limitKey: readKey(limitKey),
    compress,
  };
}

function readRejection(answer: Record<string, unknown>): Answer {
  const { status, headers, body } = answer;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 300 || status > 599) {
    throw new TypeError(`handleOpen: 'status' must be a whole number from 300 to 599, not ${readable(status)}`);
  }
  return { accepted: false, status, headers: readHeaders(headers), body: readData(body, 'body') };
}

function readKey(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > KEY_BYTES) {
    throw new TypeError(`handleOpen: 'limitKey' must be a string of 1 to ${KEY_BYTES} bytes, not ${readable(value)}`);
  }
  return value;
}

function readData(value: unknown, name: string): Data | undefined {
  if (value === undefined || typeof value === 'string' || value instanceof Uint8Array || value instanceof ArrayBuffer) {
    return value;
  }
  throw new TypeError(`handleOpen: '${name}' must be a string, Uint8Array or ArrayBuffer, not ${readable(value)}`);
}

function readHeaders(value: unknown): string[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null) {
    throw new TypeError(`handleOpen: 'headers' must be an object, not ${readable(value)}`);
  }
  const headers: string[] = [];
  for (const [name, content] of Object.entries(value)) {
    if (!TOKEN.test(name)) throw new TypeError(`handleOpen: ${JSON.stringify(name)} is not a valid header name`);
    for (const one of Array.isArray(content) ? content : [content]) {
      if (typeof one !== 'string' || !FIELD_VALUE.test(one)) {
        throw new TypeError(`handleOpen: header '${name}' must be printable text, not ${readable(one)}`);
      }
      headers.push(name, one);
    }
  }
  return headers;
}

/** The most bytes of a key. */
const KEY_BYTES = 256;

/** RFC 9110 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** RFC 9110 5.5, without the bytes above ASCII. */
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;
