/**
 * Members that the objects of Node.js and Express have and those of `millrace/http` lack. Code that uses one gets an
 * error that names it at once; `undefined` would fail later and elsewhere. Owns the lists of these members.
 */

import { MillraceError } from '../errors.js';
import { belongsTo, currentRequest, type Failing } from './late-errors.js';

/**
 * Gives an object, such as the prototype of a class, accessors that throw for the members that it lacks. A program may
 * still assign to them.
 *
 * @param requestOf returns the request that fails. Default: the request that is being handled, if there is one.
 */
export function refuseMissing<T extends object>(
  to: T,
  name: keyof typeof MEMBERS,
  requestOf: (self: T) => Failing | undefined = currentRequest,
): void {
  for (const member of MEMBERS[name]) {
    if (Object.hasOwn(to, member)) continue;
    Object.defineProperty(to, member, {
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

type Members = readonly (string | symbol)[];

/** Members of event emitters. */
const EMITTER: Members = [
  ...['addListener', 'emit', 'eventNames', 'getMaxListeners', 'listenerCount', 'listeners', 'off', 'on', 'once'],
  ...['prependListener', 'prependOnceListener', 'rawListeners', 'removeAllListeners', 'removeListener'],
  'setMaxListeners',
];

/** Members of requests and responses: in Node.js they are streams. */
const STREAM: Members = [
  ...EMITTER,
  ...['closed', 'connection', 'destroy', 'destroyed', 'errored', 'pipe', 'setTimeout', 'socket'],
];

/** Members of `IncomingMessage` and of Express's request. */
const REQUEST: Members = [
  ...['aborted', 'complete', 'client', 'headersDistinct', 'httpVersionMajor', 'httpVersionMinor', 'rawHeaders'],
  ...['rawTrailers', 'trailers', 'trailersDistinct', 'upgrade', 'isPaused', 'pause', 'push', 'read', 'readable'],
  ...['readableAborted', 'readableDidRead', 'readableEncoding', 'readableEnded', 'readableFlowing', 'readableLength'],
  ...['readableHighWaterMark', 'readableObjectMode', 'resume', 'setEncoding', 'unpipe', 'unshift', 'wrap', 'toArray'],
  ...['baseUrl', 'fresh', 'host', 'ips', 'param', 'range', 'res', 'route', 'stale', 'subdomains', 'xhr'],
  Symbol.asyncIterator,
];

/** Members of `ServerResponse` and of Express's response. */
const RESPONSE: Members = [
  ...['addTrailers', 'assignSocket', 'chunkedEncoding', 'cork', 'detachSocket', 'finished', 'flushHeaders'],
  ...['getRawHeaderNames', 'sendDate', 'setHeaders', 'shouldKeepAlive', 'strictContentLength', 'uncork'],
  ...['useChunkedEncodingByDefault', 'writable', 'writableCorked', 'writableFinished', 'writableHighWaterMark'],
  ...['writableLength', 'writableNeedDrain', 'writableObjectMode', 'writeContinue', 'writeEarlyHints', 'writeHead'],
  ...['writeHeader', 'writeProcessing'],
  ...['attachment', 'contentType', 'download', 'format', 'jsonp', 'links', 'render', 'req', 'sendFile'],
];

/** Members of Express's routers and apps: the HTTP methods for which ours have no routes, and the rest of routes. */
const ROUTER: Members = [
  ...['acl', 'bind', 'checkout', 'connect', 'copy', 'link', 'lock', 'm-search', 'merge', 'mkactivity', 'mkcalendar'],
  ...['mkcol', 'move', 'notify', 'propfind', 'proppatch', 'purge', 'query', 'rebind', 'report', 'search', 'source'],
  ...['subscribe', 'trace', 'unbind', 'unlink', 'unlock', 'unsubscribe'],
  ...['handle', 'param', 'route'],
];

/** Members of Express's apps, which are event emitters. `del` and `lazyrouter` are those of Express 4. */
const APP: Members = [
  ...EMITTER,
  ...ROUTER,
  ...['cache', 'defaultConfiguration', 'del', 'engine', 'engines', 'init', 'lazyrouter', 'mountpath', 'parent', 'path'],
  ...['render', 'request', 'response', 'router', 'settings'],
];

/** Members of the function `express`. `query` is that of Express 4. */
const EXPRESS: Members = ['Route', 'application', 'query', 'raw', 'request', 'response', 'static', 'text'];

/** The members by the name of their object in messages. */
const MEMBERS = {
  req: [...STREAM, ...REQUEST],
  res: [...STREAM, ...RESPONSE],
  app: APP,
  router: [...ROUTER, 'stack', 'listRoutes'],
  express: EXPRESS,
} as const satisfies Record<string, Members>;
