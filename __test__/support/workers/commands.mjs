// The worker of most tests. It executes JSON commands, which are text messages, and answers each with one JSON text
// `{"re": n, "value": …}` or `{"re": n, "error": …}` to the sender. It reports events of connections to channel "log".
import { writeFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';

import * as millrace from '../millrace.mjs';
import { decode, encode } from '../wire.mjs';

const { send, subscribe, unsubscribe } = millrace;
let startArg = 'handleStart was not called';
let startCalls = 0;
const opened = new Map();

/** Sends until the inbox is full, even for the smallest records. Binary, because short texts are sent later. */
function fillInbox(who) {
  for (const length of [4000, 0]) {
    const bytes = Buffer.alloc(length);
    while (send(who, bytes) > 0);
  }
}

const commands = {
  // The command set of the original's end-to-end tests.
  sub: (id, { channel, delta }) => subscribe(id, channel, delta),
  unsub: (id, { channel, delta }) => unsubscribe(id, channel, delta),
  subArray: (_id, { ids, channel, delta }) => subscribe(ids, channel, delta),
  copySubs: (_id, { from, to }) => millrace.copySubscriptions(from, to),
  unsubFromChannel: (_id, { from, channel, delta }) => subscribe(from, channel, delta ?? -1),
  pub: (_id, { channel, data }) => send(channel, data),
  hasSubscriptions: (_id, { channel }) => millrace.hasSubscriptions(channel),
  getSocketId: (id) => id,
  createVirtualSocket: (id, { target, annotation }) => millrace.createVirtualSocket(target ?? id, decode(annotation)),
  deleteVirtualSocket: (_id, { id, expected }) => millrace.deleteVirtualSocket(id, expected),
  sendToSockets: (_id, { ids, data }) => send(ids, data),
  kvSet: (_id, { key, value }) => millrace.setKey(key, value),
  kvGet: (_id, { key }) => millrace.getKey(key),
  kvSetIf: (_id, { key, value, check }) => millrace.setKeyIf(key, value, check),
  whoami: (id) => {
    const entry = millrace.getDebugState('sockets', id);
    return { id, workerId: entry?.workerId, ip: entry?.ip, threadId };
  },
  error: () => {
    throw new ThrowOut(new Error('thrown on request'));
  },
  hang: () => {
    for (;;);
  },
  ping: () => 'pong',
  getDebugState: (_id, { mode, key }) => millrace.getDebugState(mode, key),
  getStartupArg: () => ({ startArg, startCalls, threadId }),
  // Other commands.
  call: (_id, { fn, args }) => millrace[fn](...decode(args)),
  /** Makes several calls in one handler; answers with the list of results. */
  batch: (_id, { calls }) => calls.map(({ fn, args }) => encode(millrace[fn](...decode(args)))),
  /**
   * The sum of `send(who, "<prefix> <i> <padding>")` for i in 0..count; first makes the file `began`, which posts nothing that
   * waits, and waits (busily) for the key `after`.
   */
  flood: (_id, { who, count, prefix, size = 0, after, began }) => {
    if (began !== undefined) writeFileSync(began, '');
    while (after !== undefined && millrace.getKey(after) === undefined);
    let posted = 0;
    const padding = 'x'.repeat(size);
    for (let index = 0; index < count; index++) posted += send(who, `${prefix} ${index} ${padding}`);
    return posted;
  },
  /** Calls functions while the inbox of the I/O thread of `who` is full: their results, or the error's code. */
  whileFull: (_id, { who, calls }) =>
    calls.map(({ fn, args, undo }) => {
      const call = () => millrace[fn](...decode(args));
      for (;;) {
        fillInbox(who);
        try {
          const value = call();
          if (undo === undefined) return { value: encode(value) };
          // the I/O thread took something out before the call
          millrace.unsubscribe(...decode(undo));
        } catch ({ name, code }) {
          return { name, code };
        }
      }
    }),
  /** Sends a text or binary message of `size` bytes. */
  sendFilled: (_id, { who, kind, size }) => send(who, kind === 'text' ? 'x'.repeat(size) : Buffer.alloc(size, 9)),
  throwValue: (_id, { value }) => {
    throw new ThrowOut(decode(value));
  },
  reject: async (_id, { value }) => {
    await later(1);
    throw new ThrowOut(decode(value));
  },
  /** Answers after `ms`, from an async handler. */
  delay: async (_id, { ms, echo }) => {
    await later(ms);
    return { echo, at: Date.now() };
  },
  /** Answers when the key is set. */
  gate: async (_id, { key }) => {
    while (millrace.getKey(key) === undefined) await later(2);
    return key;
  },
  /** The same with a thenable that is not a native promise. */
  thenable: (_id, { ms, echo }) => thenable((resolve) => setTimeout(() => resolve({ echo }), ms)),
  /** Keeps the thread busy. */
  block: (_id, { ms }) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
    return true;
  },
  /** Blocks the thread without using the processor. */
  sleep: (_id, { ms }) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    return true;
  },
  /** Sends a message that never ends. */
  streamForever: (_id, { who }) => {
    millrace.sendStream(who, withoutEnd()).catch(() => {});
    return true;
  },
  exit: (_id, { code }) => process.exit(code ?? 0),
  uncaught: () => {
    setImmediate(() => {
      throw new Error('uncaught on request');
    });
    return true;
  },
  unhandledRejection: () => {
    Promise.reject(new Error('unhandled on request'));
    return true;
  },
  startHere: async (_id, { bind }) => {
    const server = await millrace.start({ bind });
    return server.addresses;
  },
  openInfo: (id) => opened.get(id),
  token: (_id, _command, token) => token,
};

async function* withoutEnd() {
  yield Buffer.alloc(2000);
  await new Promise(() => {});
}

/** A value with a `then` that is not a native promise: handlers may return such a thing. */
function thenable(start) {
  // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
  return { then: start };
}

/** An error that a command deliberately throws out of the handler; other errors are sent as the answer. */
class ThrowOut {
  constructor(value) {
    this.value = value;
  }
}

const log = (entry) => send('log', JSON.stringify({ ...entry, threadId }));

export function handleStart(arg) {
  startArg = arg;
  startCalls++;
}

export function handleOpen(socketId, ip, headers, request) {
  opened.set(socketId, { ip, headers, path: request?.path, query: String(request?.query ?? '') });
  log({ event: 'open', socketId });
  return true;
}

export function handleTextMessage(text, socketId, token) {
  if (!text.startsWith('{"cmd"')) {
    send(socketId, text);
    return undefined;
  }
  const { n, cmd, ...rest } = JSON.parse(text);
  const fail = (error) => {
    if (error instanceof ThrowOut) throw error.value;
    send(socketId, JSON.stringify({ re: n, error: encode(error) }));
  };
  const succeed = (value) => {
    send(socketId, JSON.stringify({ re: n, value: encode(value) }));
  };
  try {
    const value = commands[cmd](socketId, rest, token);
    if (value instanceof Promise) return value.then(succeed).catch(fail);
    if (typeof value?.then === 'function')
      return thenable((resolve) => value.then((result) => resolve(succeed(result))));
    succeed(value);
  } catch (error) {
    fail(error);
  }
  return undefined;
}

export function handleBinaryMessage(data, socketId, token) {
  send(socketId, token === undefined ? data : Buffer.concat([token, data]));
}

export function handleClose(socketId, token, code, reason) {
  opened.delete(socketId);
  log({ event: 'close', socketId, token: token === undefined ? null : Buffer.from(token).toString(), code, reason });
}
