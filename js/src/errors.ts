/** The error class and its stable codes. `docs/errors.md` is generated from this list. */

/** The codes that a `MillraceError` can have, with their meaning. */
export const ERROR_CODES = {
  ERR_MILLRACE_ACCEPT_FAILED:
    'A connection could not be accepted, for example because descriptors ran out; accepting goes on.',
  ERR_MILLRACE_ADDRESS_IN_USE: 'Another listener or process uses the address.',
  ERR_MILLRACE_ALREADY_ANSWERED: 'A request was answered a second time; the first answer counts.',
  ERR_MILLRACE_ALREADY_STARTED:
    'An option that the first `start` of a gateway fixes was given again with another value, or another thread started the gateway.',
  ERR_MILLRACE_BACKPLANE_DROPPED:
    'Messages to other nodes were dropped and counted: more than `limits.backplaneQueue` waited, or one was too large.',
  ERR_MILLRACE_BACKPLANE_LOST:
    'There is no link to the other nodes. Millrace tries to connect again, and messages wait meanwhile. As a rejection: the link was not up within `waitMs`.',
  ERR_MILLRACE_BACKPLANE_REFUSED: "The backplane's server refused a message or a subscription; the message says why.",
  ERR_MILLRACE_BINDING_FOREIGN:
    'A worker got another native addon than the thread that started it: its file was replaced while the process ran, or the package is installed twice.',
  ERR_MILLRACE_BINDING_MISMATCH: 'The native addon belongs to another version of the package; install it again.',
  ERR_MILLRACE_BINDING_MISSING: 'There is no native addon for this platform, or it cannot be loaded.',
  ERR_MILLRACE_BIND_FAILED: 'The system refused to listen on the address; the message says why.',
  ERR_MILLRACE_BODY_TOO_LARGE: "A request's body is larger than `limits.bodyBytes`, or than the handler allows.",
  ERR_MILLRACE_CANNOT_ATTACH:
    'Connections of this HTTP server cannot be taken over: it speaks TLS, or this is not Node.js on a Unix system; or the system refused it for one connection.',
  ERR_MILLRACE_GATEWAY_GONE: 'The gateway that the function belonged to no longer exists.',
  ERR_MILLRACE_HANDLER_FAILED: 'A handler threw or rejected. `cause` is what it threw.',
  ERR_MILLRACE_HANDLER_TIMEOUT: 'A handler did not finish within `limits.handlerTimeoutMs`.',
  ERR_MILLRACE_HISTORY_UNAVAILABLE:
    'The server that keeps the history of channels for all nodes cannot be reached, has too much to do, or refused. Nothing was published or changed.',
  ERR_MILLRACE_INBOX_FULL:
    'An I/O thread has more than `limits.shardInboxBytes` to send; deliveries to its sockets were refused and counted.',
  ERR_MILLRACE_INTERNAL: 'A bug in Millrace or in the runtime; please report it.',
  ERR_MILLRACE_INVALID_ACCEPTANCE:
    '`handleOpen` accepted with a subprotocol that was not offered, or with a header that is invalid or belongs to the handshake.',
  ERR_MILLRACE_INVALID_ADDRESS: 'The address has none of the accepted forms.',
  ERR_MILLRACE_INVALID_OPTION: 'An option has a value that the gateway cannot work with; the message says which.',
  ERR_MILLRACE_INVALID_TLS:
    'A certificate, a key or an authority cannot be read or used, or `reloadTls` was called where no listener speaks TLS; the message says which. Nothing was changed.',
  ERR_MILLRACE_LISTENING: 'The TCP server already listens, or is being closed.',
  ERR_MILLRACE_MESSAGE_BROKEN:
    'The rest of a message that `handleMessageStream` reads will not arrive: its connection has ended, or it is invalid.',
  ERR_MILLRACE_NODE_ONLY:
    'A program or a middleware used a member that objects of Node or Express have and those of `millrace/http` do not; the message names it. `nodeHandler` of `millrace/node` runs such programs.',
  ERR_MILLRACE_NOT_AN_OBJECT:
    'A text message to a virtual socket with user data is not a JSON object; it was sent unchanged.',
  ERR_MILLRACE_NOT_DRAINED: "A socket's outbox was not drained within the `timeoutMs` of `drained`.",
  ERR_MILLRACE_NOT_RUNNING:
    'The gateway or the server has not been started, or is stopped; or the workers were stopped before all of them were replaced.',
  ERR_MILLRACE_NO_HANDLER:
    'The worker module, or `options.handlers`, has no handler: neither as a named export nor in its default export. The message says what it has. `handlers: {}` is allowed, for listeners that need none.',
  ERR_MILLRACE_NO_COOKIE_SECRET:
    'A cookie was to be signed, or signed cookies were read, in an app that was made without `cookieSecret`.',
  ERR_MILLRACE_NO_STREAMS: 'A message cannot be sent in parts, because the socket is not a WebSocket.',
  ERR_MILLRACE_NO_HISTORY: "The channel's terms in the option `channels` ask for no history.",
  ERR_MILLRACE_NO_PRESENCE: "The channel's terms in the option `channels` do not ask for presence.",
  ERR_MILLRACE_NO_NET_SOCKET:
    "A request listener asked the socket of a request for something that only a `net.Socket` has; the message says what. Or the server that `nodeHandler` got has listeners for `'upgrade'` events, which are never emitted.",
  ERR_MILLRACE_OVERLOADED:
    'An I/O thread has nearly `limits.shardInboxBytes` to do already, so no socket was subscribed. Try again later, or split a call for very many sockets into several.',
  ERR_MILLRACE_PRESENCE_FULL:
    'What the members of all channels say of themselves takes `limits.presenceBytes` already, so nothing was changed; or, if it is reported, members of other nodes are left out.',
  ERR_MILLRACE_PRESENCE_UNAVAILABLE:
    'The members that other nodes have in a channel cannot be read: there is no link to the server that nodes share, or it refused. Reported also when that link is lost.',
  ERR_MILLRACE_PUBLICATION_UNKNOWN:
    'The link to the server that keeps the history of channels was lost, or it did not answer within 5 s: whether the message was published is not known. Only with an `idempotencyKey` can it be published again without being doubled.',
  ERR_MILLRACE_REQUEST_ABORTED:
    "The rest of a request's body will not arrive: its client has left, or the request has been answered.",
  ERR_MILLRACE_SHARD_FAILED:
    "An I/O thread or the backplane's could not start, or ended by a bug in Millrace; the gateway ends, and its connections are lost.",
  ERR_MILLRACE_SHUTTING_DOWN: 'The gateway is being stopped; start it again once `stop` has resolved.',
  ERR_MILLRACE_SOCKET_CLOSED: 'The socket was closed before a message to it was complete.',
  ERR_MILLRACE_SOCKET_NOT_FOUND: 'No open connection has the given socket id.',
  ERR_MILLRACE_START_IN_WORKER: 'A worker called `start`; only the thread that created the gateway may.',
  ERR_MILLRACE_STREAM_FAILED:
    'A message that is sent in parts could not be completed: its source failed, or a text is not UTF-8. `cause` is what the source threw.',
  ERR_MILLRACE_TOO_MANY_PATTERNS:
    'There are 65,536 patterns with a subscription; the subscription to another was refused.',
  ERR_MILLRACE_TOO_MANY_WAITS:
    'So many calls of `drained`, `sendStream` and `call`, and calls that the server of a shared history answers, wait in the threads of the gateway that another one was refused.',
  ERR_MILLRACE_WORKER_EXITED:
    'A worker ended on its own. It is replaced, unless it was being stopped or its successor had taken its place. `cause` is the error that ended it, if any.',
  ERR_MILLRACE_WORKER_FAILED:
    'A worker could not be started, or was not ready after `limits.workerStartTimeoutMs`. `cause` says why.',
  ERR_MILLRACE_WORKER_GONE: 'The worker that the function belonged to has ended.',
  ERR_MILLRACE_WORKER_UNRESPONSIVE:
    'A worker did not answer within `limits.workerTimeoutMs`, or had not ended long after it was stopped or replaced. Its thread was ended; it is replaced if it still had its place.',
} as const;

/** A stable error code. */
export type ErrorCode = keyof typeof ERROR_CODES;

/**
 * What goes wrong other than a bad argument, which is a `TypeError`.
 *
 * @example
 * ```ts
 * try {
 *   await start({ bind: '127.0.0.1:80', workerPath: './worker.js' });
 * } catch (error) {
 *   if (error instanceof MillraceError && error.code === 'ERR_MILLRACE_ADDRESS_IN_USE') …
 * }
 * ```
 */
export class MillraceError extends Error {
  /** Stable; the message is not. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

Object.defineProperty(MillraceError.prototype, 'name', {
  value: 'MillraceError',
  configurable: true,
  writable: true,
});
