// INFO, CLIENT and COMMAND compared with a real redis-server: the same fields in the same order and format, in RESP2
// and RESP3.
import test from 'ava';

import { connect } from '../support/resp.mjs';
import { bothOf, compare, comparison } from '../support/resp-compare.mjs';

const { redis, withRedis, serve } = comparison(test);

/** Commands without key specifications and tips for proxies, which Millrace does not report. */
const COMMANDS = [
  ...['publish', 'subscribe', 'psubscribe', 'unsubscribe', 'punsubscribe', 'echo', 'select', 'hello', 'auth', 'quit'],
  ...['reset', 'command|count', 'command|help', 'client|id', 'client|kill', 'client|reply', 'client|help'],
  ...['client|getname', 'client|setname', 'pubsub|numsub', 'pubsub|channels', 'pubsub|help', 'NoSuch'],
];

for (const version of [2, 3]) {
  withRedis(`RESP${version}: COMMAND INFO has the same answers`, async (t) => {
    const server = await serve(t);
    const steps = COMMANDS.map((name) => ['a', 'COMMAND', 'INFO', name]);
    steps.push(['a', 'COMMAND', 'INFO', 'nosuch', 'ECHO', 'Client|Kill']);
    await compare(t, () => bothOf(redis, server), steps, { greet: ['HELLO', String(version)] });
  });
}

/** The fields of a line of CLIENT LIST, or of a section of INFO. */
const fields = (text, between, is) =>
  text
    .trim()
    .split(between)
    .map((field) => field.split(is));

for (const version of [2, 3]) {
  withRedis(`RESP${version}: CLIENT INFO and CLIENT LIST have the same fields in the same order`, async (t) => {
    const server = await serve(t);
    const lines = [];
    for (const address of bothOf(redis, server)) {
      const [client, listener] = [await connect(t, address), await connect(t, address)];
      await client.ask('HELLO', String(version), 'SETNAME', 'me');
      await listener.ask('SUBSCRIBE', 'a');
      await listener.ask('PSUBSCRIBE', 'b*');
      await listener.ask('SSUBSCRIBE', 'c');
      const id = (await client.ask('CLIENT', 'ID')).trim().slice(1);
      const replies = [
        await client.ask('CLIENT', 'INFO'),
        await client.ask('CLIENT', 'LIST', 'ID', id),
        await client.ask('CLIENT', 'LIST', 'TYPE', 'pubsub'),
      ];
      lines.push(replies.map((reply) => [reply[0], fields(reply.slice(reply.indexOf('id=')), ' ', '=')]));
      client.end();
      listener.end();
      await Promise.all([client.over(), listener.over()]);
    }
    const same = [
      'name',
      'flags',
      'db',
      'sub',
      'psub',
      'ssub',
      'multi',
      'obl',
      'oll',
      'events',
      'cmd',
      'user',
      'redir',
      'resp',
    ];
    for (const [index, [kind, expected]] of lines[0].entries()) {
      const [ourKind, ours] = lines[1][index];
      t.is(ourKind, kind);
      const names = expected.map(([name]) => name);
      // Redis 7.2 added these two
      t.deepEqual(
        ours.map(([name]) => name),
        [...names, 'lib-name', 'lib-ver'],
      );
      const picked = (all) => all.filter(([name]) => same.includes(name));
      t.deepEqual(picked(ours), picked(expected));
    }
  });

  withRedis(`RESP${version}: INFO has Redis’s sections and fields, and Millrace’s own`, async (t) => {
    const server = await serve(t);
    await redis.cli('FLUSHALL');
    const sections = [];
    for (const address of bothOf(redis, server)) {
      const client = await connect(t, address);
      await client.ask('HELLO', String(version));
      await client.ask('MSET', 'a', '1', 'b', '2');
      await client.ask('EXPIRE', 'a', '1000');
      const reply = await client.ask('INFO');
      t.is(await client.ask('INFO', 'nosuch'), version === 3 ? '=4\r\ntxt:\r\n' : '$0\r\n\r\n');
      const all = reply
        .slice(reply.indexOf('#'))
        .split('\r\n\r\n')
        .map((text) => text.trim().split('\r\n'));
      sections.push(new Map(all.map(([head, ...lines]) => [head, fields(lines.join('\n'), '\n', ':')])));
      t.is(reply[0], version === 3 ? '=' : '$');
      client.end();
      await client.over();
    }
    const [real, ours] = sections;
    const order = [...real.keys()].filter((head) => ours.has(head));
    t.deepEqual([...ours.keys()], order, 'all fields, in the same order');
    const same = ['redis_mode', 'arch_bits', 'loading', 'connected_clients', 'maxmemory_policy', 'pubsub_channels'];
    for (const [head, lines] of ours) {
      const theirs = new Map(real.get(head));
      for (const [name, value] of lines.filter(([known]) => !known.startsWith('millrace_'))) {
        t.true(theirs.has(name), `${head} ${name}`);
        const is = same.includes(name) || ['# Replication', '# Cluster', '# Keyspace'].includes(head);
        // Redis samples the mean; Millrace does not know it
        const shown = (text) => text.replace(/avg_ttl=\d+/, 'avg_ttl');
        if (is) t.is(shown(value), shown(theirs.get(name)), name);
      }
    }
  });
}

withRedis('HELP is Redis’s, without the unsupported subcommands', async (t) => {
  const [real, ours] = await Promise.all(bothOf(redis, await serve(t)).map((address) => connect(t, address)));
  for (const [name, newer] of [
    ['CLIENT', 4],
    ['COMMAND', 0],
  ]) {
    const lines = async (client) => (await client.ask(name, 'HELP')).split('\r\n').slice(1);
    const [theirs, own] = [await lines(real), await lines(ours)];
    t.is(own.filter((line) => !theirs.includes(line)).length, newer, own.join('\n'));
    t.is(own[0], theirs[0]);
    t.deepEqual(own.slice(-3), theirs.slice(-3));
    for (const part of own.filter((line) => /^\+[A-Z-]+/.test(line))) {
      const [word] = part.slice(1).split(' ');
      if (word !== name) t.notRegex(await ours.ask(name, word), /unknown subcommand/);
    }
  }
});
