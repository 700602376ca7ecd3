// Sends the same requests to a real redis-server and to Millrace; the answers must be the same bytes.
import { until } from './deadline.mjs';
import { likeRedis, Redis } from './redis.mjs';
import { connect } from './resp.mjs';
import { ownServer, worker } from './server.mjs';

/**
 * What tests of a file need to compare the two: `redis`, started with `args` for all of them; `withRedis`, their `test`;
 * and `serve`, which starts a Millrace for one of them, with `listener` as further options of its listener.
 */
export function comparison(test, { args, listener } = {}) {
  const options = {
    workerPath: worker('echo'),
    threads: 1,
    ioThreads: 2,
    bind: { address: '127.0.0.1:0', protocol: 'resp', ...listener },
  };
  return { redis: Redis.of(test, args), withRedis: likeRedis(test.serial), serve: (t) => ownServer(t, options) };
}

/** The addresses of both. */
export const bothOf = (redis, server) => [`127.0.0.1:${redis.port}`, server.addresses[0]];

/** Values that may differ, by name: ids, times, versions. */
const MASKS = {
  version: [/\$\d+\r\nversion\r\n\$\d+\r\n[^\r]*\r\n/, 'VERSION'],
  id: [/(\$2\r\nid\r\n|^):\d+\r\n/, '$1ID'],
  time: [/\$\d+\r\n\d+\r\n\$\d+\r\n\d+\r\n/, 'TIME'],
};

/** The addresses of both, without keys. */
export async function emptied(redis, server, cliArgs = []) {
  await redis.cli(...cliArgs, 'FLUSHALL');
  for (const { key } of await server.call('getDebugState', 'kv')) await server.call('setKey', key, undefined);
  return bothOf(redis, server);
}

/** The time limit of a script whose answers contain the elapsed time in whole seconds. */
const AT_ONCE_MS = 400;

/**
 * Sends steps to both servers, whose addresses `fresh` returns. Each step is `[connection, ...words]`, or
 * `[connection, N]` to read N more pushes; N after the words is the number of replies. `greet` is sent first on every
 * connection. `isTimed`: the steps are repeated if they took too long on a busy machine.
 */
export async function compare(t, fresh, steps, { masks = [], greet, isTimed = false } = {}) {
  const once = async () => {
    const answers = [];
    let took = 0;
    for (const address of await fresh()) {
      const began = performance.now();
      answers.push(await play(t, address, steps, masks, greet));
      took = Math.max(took, performance.now() - began);
    }
    return (!isTimed || took < AT_ONCE_MS) && answers;
  };
  const [expected, answers] = await until(once, `a script to take at most ${AT_ONCE_MS} ms`);
  t.deepEqual(answers, expected);
}

async function play(t, address, steps, masks, greet) {
  const clients = new Map();
  const seen = [];
  for (const [name, ...words] of steps) {
    if (!clients.has(name)) {
      clients.set(name, await connect(t, address));
      if (greet) await clients.get(name).ask(...greet);
    }
    const client = clients.get(name);
    const count = typeof words.at(-1) === 'number' ? words.pop() : 1;
    const shown = words.map((word) => word.toString('latin1')).join(' ');
    if (words.length > 0) client.send(...words);
    const replies = await client.take(count);
    seen.push([name, shown, ...replies.map((reply) => masked(reply, masks))]);
  }
  for (const [name, client] of clients) {
    // replies that were not read must be equal, too
    seen.push([name, 'left', client.left]);
    client.end();
    await client.over();
  }
  return seen;
}

const masked = (reply, names) => names.reduce((text, name) => text.replace(...MASKS[name]), reply);
