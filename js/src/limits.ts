/** The names and ranges of `options.limits`. The defaults and what happens at each bound are the gateway's. */

import { type Fields, shown } from './fields.js';

/** What happens to a socket whose outbox is full. */
export type OutboxPolicy = 'close' | 'dropNewest' | 'dropOldest';

/** What happens while much waits for the backplane. */
export type BackplaneFull = 'wait' | 'drop';

/** Bounds of the connections of one listener. 0 switches a bound off where it says so. */
export interface ListenerLimits {
  /** Time for a whole handshake, the answer of `handleOpen` included, and for the head of any HTTP request (408). Default 10,000. */
  handshakeTimeoutMs?: number;
  /** Bytes of the HTTP request line and headers; 431 above. Default 16,384. */
  requestHeadBytes?: number;
  /** Headers of an HTTP request; 431 above. Default 100. */
  requestHeaders?: number;
  /** Bytes of an HTTP request's target; 414 above. Default 8,192. */
  requestTargetBytes?: number;
  /** Bytes of a request's body; 413 above. Default 16 MiB. */
  bodyBytes?: number;
  /** Time that a request's body may stand still; one that takes longer in all must come with 1 KiB/s or more, else 408. Default 10,000. */
  bodyTimeoutMs?: number;
  /**
   * Time from accepting a connection to the first byte of its first request, and if that is one of HTTP/1.0 also silence in it;
   * the connection is closed after it. Default 2,000.
   */
  firstRequestTimeoutMs?: number;
  /** Silence between two HTTP requests of one connection, after which it is closed. Default 5,000. */
  keepAliveTimeoutMs?: number;
  /** HTTP requests of one connection; the last answer says `Connection: close`. 1 is no keep-alive. Default 1,000. */
  keepAliveRequests?: number;
  /**
   * Time until the answer to a request begins, from when a worker is given the request or the last piece of its body;
   * 503 after it, 0 is off. Default 30,000.
   */
  answerTimeoutMs?: number;
  /** Bytes of a message, inclusive; closed with 1009 above. Default 16 MiB. */
  messageBytes?: number;
  /** Time from a message's first byte to its last, unless it arrives with 1 KiB/s or more; closed with 1008. Default 60,000. */
  messageDeadlineMs?: number;
  /** Silence after which a ping is sent; 0 is off. Default 25,000. */
  pingIntervalMs?: number;
  /** Time to answer a ping; the connection is cut (1006) after it. Default 10,000. */
  pongTimeoutMs?: number;
  /** Time without a message in either direction; 0 is off. Default 0. */
  idleTimeoutMs?: number;
  /** Requests and sockets at once on one HTTP/2 connection; further ones are refused. Default 128. */
  http2Streams?: number;
  /** Time without any of these, after which the connection is closed. Default 60,000. */
  http2IdleTimeoutMs?: number;
  /**
   * Pings, pongs and closes a connection may send per second, sustained; closed with 1008 above. Also requests that an
   * HTTP/2 client takes back before they are answered; disconnected above. Default 100.
   */
  controlFramesPerSecond?: number;
  /** The same, in one burst. Default 1,000. */
  controlFramesBurst?: number;
  /** Messages per second of one connection, above which it is not read; 0 is off. Default 0. */
  messagesPerSecond?: number;
  /** Channels and patterns that one connection subscribes to by its own commands (RESP); refused above. Default 10,000. */
  subscriptionsPerSocket?: number;
  /** Bytes of all keys and values, each pair charged its length + 128; Redis clients may not write above. Default 256 MiB. */
  keysBytes?: number;
  /** Bytes that the listener keeps of static files in memory; 0 is off. Default 32 MiB. */
  staticCacheBytes?: number;
  /** Bytes of a static file that is kept in memory. Default 65,536. */
  staticCacheFileBytes?: number;
  /** Time after which a static file in memory is looked at again; 0 looks for each request. Default 1,000. */
  staticCheckMs?: number;
}

/** Bounds of a gateway, fixed by its first `start`. */
export interface GatewayLimits {
  /** Connections open at once; accepting waits above. Default 100,000. */
  connections?: number;
  /** Connections of one remote address; 503 above, 0 is off. Default 0. */
  connectionsPerAddress?: number;
  /**
   * Bytes that wait in a socket's outbox behind the message that is being written, each message charged its length + 64;
   * `outboxPolicy` above. Default 4 MiB.
   */
  outboxBytes?: number;
  /** Messages that wait there behind the one that is being written; `outboxPolicy` above. Default 65,536. */
  outboxFrames?: number;
  /** What happens at `outboxBytes` and `outboxFrames`: closed with 1013 (default), or messages are dropped and counted. */
  outboxPolicy?: OutboxPolicy;
  /** Bytes in a socket's outbox above which it is not read. Default 262,144. */
  outboxReadPauseBytes?: number;
  /** Bytes held by all outboxes together; the fullest are closed with 1013 above. Default 256 MiB. */
  outboxesTotalBytes?: number;
  /** Time without progress of a blocked write, after which the connection is cut. Default 30,000. */
  writeTimeoutMs?: number;
  /** Messages of one socket that its worker has not handled; it is not read above. Default 64. */
  unhandledEvents?: number;
  /** Bytes of these. Default 1 MiB. */
  unhandledBytes?: number;
  /** Events waiting for one worker; its connections are not read above. Default 16,384. */
  workerQueueEvents?: number;
  /** Bytes of these. Default 2 MiB. */
  workerQueueBytes?: number;
  /** Requests of one worker that wait for the rest of their answers; 503 above. Default 16,384. */
  workerRequests?: number;
  /** Bytes posted to one I/O thread and not yet processed; deliveries are refused and counted above. Default 256 MiB. */
  shardInboxBytes?: number;
  /** Time a worker may be silent before it is replaced; 0 is off. Default 3,000; off with `threads: 0`. */
  workerTimeoutMs?: number;
  /** Time a worker thread may take to import its module and finish `handleStart`; ended after it, 0 is off. Default 60,000. */
  workerStartTimeoutMs?: number;
  /** Messages to other nodes that wait for the backplane; the oldest is dropped and counted above. Default 65,536. */
  backplaneQueue?: number;
  /** Bytes of these, each charged its length + 64. Default 64 MiB. */
  backplaneQueueBytes?: number;
  /**
   * What happens while more than a quarter of these waits: workers take no events and Redis clients wait, for a second at
   * most (default), or nobody does. `send` never waits.
   */
  backplaneFull?: BackplaneFull;
  /** Bytes of one message to or from other nodes; dropped or passed over, and counted above. Default 16 MiB. */
  backplaneMessageBytes?: number;
  /**
   * Time for what was sent before a close and for the closing handshake, then the connection is cut; while a listener stops,
   * what was sent has the time of the stop. A goodbye waits as long for handlers of what came before it. Default 5,000.
   */
  closeTimeoutMs?: number;
  /** Time for an asynchronous handler before its connection is closed with 1011; 0 is off. Default 5,000. */
  handlerTimeoutMs?: number;
}

/** All bounds. */
export type Limits = ListenerLimits & GatewayLimits;

/** The least and the most that a limit can be. */
export interface Range {
  least: number;
  most: number;
}

const UINT32 = 2 ** 32 - 1;
const COUNT: Range = { least: 1, most: UINT32 };
const COUNT_OR_OFF: Range = { least: 0, most: UINT32 };
const BYTES: Range = { least: 1, most: 2 ** 40 };
/** One day: longer than any sensible timeout, short enough for every timer. */
const TIME: Range = { least: 1, most: 86_400_000 };
const TIME_OR_OFF: Range = { least: 0, most: 86_400_000 };

export const LISTENER_RANGES: Record<keyof ListenerLimits, Range> = {
  handshakeTimeoutMs: TIME,
  requestHeadBytes: { least: 256, most: 2 ** 20 },
  requestHeaders: { least: 1, most: 10_000 },
  requestTargetBytes: { least: 1, most: 65_534 },
  bodyBytes: BYTES,
  bodyTimeoutMs: TIME,
  firstRequestTimeoutMs: TIME,
  keepAliveTimeoutMs: TIME,
  keepAliveRequests: COUNT,
  answerTimeoutMs: TIME_OR_OFF,
  messageBytes: { least: 1, most: 2 ** 31 - 1 },
  messageDeadlineMs: TIME,
  pingIntervalMs: TIME_OR_OFF,
  pongTimeoutMs: TIME,
  idleTimeoutMs: TIME_OR_OFF,
  http2Streams: { least: 1, most: 10_000 },
  http2IdleTimeoutMs: TIME,
  controlFramesPerSecond: COUNT,
  controlFramesBurst: COUNT,
  messagesPerSecond: COUNT_OR_OFF,
  subscriptionsPerSocket: COUNT,
  keysBytes: BYTES,
  staticCacheBytes: { least: 0, most: 2 ** 40 },
  staticCacheFileBytes: { least: 0, most: 2 ** 31 - 1 },
  staticCheckMs: TIME_OR_OFF,
};

export const GATEWAY_RANGES: Record<Exclude<keyof GatewayLimits, 'outboxPolicy' | 'backplaneFull'>, Range> = {
  connections: COUNT,
  connectionsPerAddress: COUNT_OR_OFF,
  outboxBytes: BYTES,
  outboxFrames: COUNT,
  outboxReadPauseBytes: BYTES,
  outboxesTotalBytes: BYTES,
  writeTimeoutMs: TIME,
  unhandledEvents: COUNT,
  unhandledBytes: BYTES,
  workerQueueEvents: COUNT,
  workerQueueBytes: BYTES,
  workerRequests: COUNT,
  shardInboxBytes: BYTES,
  workerTimeoutMs: TIME_OR_OFF,
  workerStartTimeoutMs: TIME_OR_OFF,
  backplaneQueue: COUNT,
  backplaneQueueBytes: BYTES,
  backplaneMessageBytes: { least: 1, most: 2 ** 29 },
  closeTimeoutMs: TIME,
  handlerTimeoutMs: TIME_OR_OFF,
};

/** What is no number: the words it may be. */
export const GATEWAY_WORDS: Readonly<Record<'outboxPolicy' | 'backplaneFull', readonly string[]>> = {
  outboxPolicy: ['close', 'dropNewest', 'dropOldest'],
  backplaneFull: ['wait', 'drop'],
};

/** Checks these. */
export function readWords(given: Fields, at: string, problems: string[]): Record<string, string> {
  const words: Record<string, string> = {};
  for (const [name, known] of Object.entries(GATEWAY_WORDS)) {
    const word = given[name];
    if (typeof word === 'string' && known.includes(word)) words[name] = word;
    else if (word !== undefined) {
      const quoted = known.map((one) => `'${one}'`).join(', ');
      problems.push(`${at}.${name} must be ${quoted.replace(/, (?=[^,]*$)/, ' or ')}, not ${shown(word)}`);
    }
  }
  return words;
}

/** The limits that JavaScript keeps itself: the native side is not told. */
export const OWN_LIMITS: readonly string[] = ['handlerTimeoutMs', 'workerStartTimeoutMs'];

/** Default of `handlerTimeoutMs`. */
export const HANDLER_TIMEOUT_MS = 5_000;

/** Default of `workerStartTimeoutMs`. */
export const WORKER_START_TIMEOUT_MS = 60_000;
