// Sends a message from a source to a socket. Answers with the number of bytes, or with the error's code and message, and
// what the source noticed. Sources may wait for a key, so that a test decides when they go on.
import { Readable } from 'node:stream';
import { setTimeout as later } from 'node:timers/promises';

export default async function (millrace, socketId, how, options) {
  const seen = { made: 0, ended: false };
  const source = sources[how.source](how, seen, async (key) => {
    while (millrace.getKey(key) === undefined) await later(2);
  });
  // the message begins in the same turn of the event loop
  if (how.name !== undefined) millrace.setKey(`begins ${how.name}`, '1');
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, millrace.outboxBytes(socketId));
  }, 1);
  try {
    return { bytes: await millrace.sendStream(socketId, source, options), most, ...seen };
  } catch (error) {
    return { code: error.code, name: error.name, message: error.message, cause: error.cause?.message, ...seen };
  } finally {
    clearInterval(watch);
  }
}

/** Makes `count` chunks, numbered, and waits for `how.gate` before number `how.at`. */
async function* chunks(how, seen, open) {
  try {
    for (; seen.made < how.count; seen.made++) {
      if (seen.made === how.at) {
        if (how.gate !== undefined) await open(how.gate);
        if (how.error !== undefined) throw new Error(how.error);
      }
      if (how.list === undefined) yield Buffer.alloc(how.size, seen.made);
      else yield how.list[seen.made];
    }
  } finally {
    seen.ended = true;
  }
}

const sources = {
  generator: chunks,
  readable: (how, seen, open) => Readable.from(chunks(how, seen, open)),
  web(how, seen, open) {
    const iterator = chunks(how, seen, open);
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel(reason) {
        seen.cancelled = reason.code ?? reason.message;
        return iterator.return();
      },
    });
  },
  list: (how) => how.list,
  /** A source that never has anything. */
  never: (_how, seen) =>
    new ReadableStream({
      cancel() {
        seen.cancelled = true;
      },
    }),
};
