/**
 * Members that requests and responses of Node.js have and those of an app lack. A middleware that uses one gets an
 * error that names it at once; `undefined` would fail later and elsewhere. Owns the lists of these members.
 */

import { MillraceError } from '../errors.js';
import { belongsTo, type Failing } from './late-errors.js';

/**
 * Gives a class accessors that throw for the members that it lacks. A program may still assign to them.
 *
 * @param requestOf returns the request that fails
 */
export function refuseMissing<T extends object>(
  prototype: T,
  name: 'req' | 'res',
  requestOf: (self: T) => Failing | undefined,
): void {
  for (const member of [...STREAM, ...(name === 'req' ? REQUEST : RESPONSE)]) {
    if (Object.hasOwn(prototype, member)) continue;
    Object.defineProperty(prototype, member, {
      configurable: true,
      get(this: T): never {
        throw missing(
          typeof member === 'symbol' ? `${name}[${member.description}]` : `${name}.${member}`,
          requestOf(this),
        );
      },
      set(this: T, value: unknown): void {
        Object.defineProperty(this, member, { value, configurable: true, enumerable: true, writable: true });
      },
    });
  }
}

function missing(what: string, request: Failing | undefined): MillraceError {
  const message =
    `millrace/http has no ${what}, which is Node's or Express's own: a program or a middleware that needs it runs ` +
    "unchanged by nodeHandler of 'millrace/node'";
  const error = new MillraceError('ERR_MILLRACE_NODE_ONLY', message);
  belongsTo(error, request);
  return error;
}

/** Members of both: in Node.js they are streams and event emitters. */
const STREAM: readonly (string | symbol)[] = [
  ...['addListener', 'emit', 'eventNames', 'getMaxListeners', 'listenerCount', 'listeners', 'off', 'on', 'once'],
  ...['prependListener', 'prependOnceListener', 'rawListeners', 'removeAllListeners', 'removeListener'],
  ...['setMaxListeners', 'closed', 'connection', 'destroy', 'destroyed', 'errored', 'pipe', 'setTimeout', 'socket'],
];

/** Members of `IncomingMessage` and of Express's request. */
const REQUEST: readonly (string | symbol)[] = [
  ...['aborted', 'complete', 'client', 'headersDistinct', 'httpVersionMajor', 'httpVersionMinor', 'rawHeaders'],
  ...['rawTrailers', 'trailers', 'trailersDistinct', 'upgrade', 'isPaused', 'pause', 'push', 'read', 'readable'],
  ...['readableAborted', 'readableDidRead', 'readableEncoding', 'readableEnded', 'readableFlowing', 'readableLength'],
  ...['readableHighWaterMark', 'readableObjectMode', 'resume', 'setEncoding', 'unpipe', 'unshift', 'wrap', 'toArray'],
  ...['baseUrl', 'fresh', 'host', 'ips', 'param', 'range', 'res', 'route', 'stale', 'subdomains', 'xhr'],
  Symbol.asyncIterator,
];

/** Members of `ServerResponse` and of Express's response. */
const RESPONSE: readonly (string | symbol)[] = [
  ...['addTrailers', 'assignSocket', 'chunkedEncoding', 'cork', 'detachSocket', 'finished', 'flushHeaders'],
  ...['getRawHeaderNames', 'sendDate', 'setHeaders', 'shouldKeepAlive', 'strictContentLength', 'uncork'],
  ...['useChunkedEncodingByDefault', 'writable', 'writableCorked', 'writableFinished', 'writableHighWaterMark'],
  ...['writableLength', 'writableNeedDrain', 'writableObjectMode', 'writeContinue', 'writeEarlyHints', 'writeHead'],
  ...['writeHeader', 'writeProcessing'],
  ...['attachment', 'contentType', 'download', 'format', 'jsonp', 'links', 'render', 'req', 'sendFile'],
];
