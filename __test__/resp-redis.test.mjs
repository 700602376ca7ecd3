// The same bytes to a real redis-server and to Millrace: the answers are the same bytes, in RESP2 and RESP3. What has to
// differ (ids, times, versions) is masked.
import test from 'ava';

import { needingRedis, Redis } from './support/redis.mjs';
import { connect, request } from './support/resp.mjs';
import { compare } from './support/resp-compare.mjs';
import { ownServer, worker } from './support/server.mjs';

const redis = Redis.of(test);
const withRedis = needingRedis(test.serial);
const OPTIONS = {
  workerPath: worker('echo'),
  threads: 1,
  ioThreads: 2,
  bind: { address: '127.0.0.1:0', protocol: 'resp' },
};

/** The addresses of both, without keys. */
async function fresh(t) {
  await redis.cli('FLUSHALL');
  const { addresses } = await ownServer(t, OPTIONS);
  return [`127.0.0.1:${redis.port}`, addresses[0]];
}

/** Requests of words without blanks, in one write. */
const requests = (...lines) => Buffer.concat(lines.map((line) => request(...line.split(' '))));
const inline = (line) => Buffer.from(`${line}\r\n`, 'latin1');

for (const version of [2, 3]) {
  const like = (title, steps, options) =>
    withRedis(`RESP${version}: ${title}`, async (t) => {
      const greet = version === 3 ? ['HELLO', '3'] : undefined;
      await compare(t, () => fresh(t), steps, { greet, ...options });
    });

  like('connections', [
    ['a', 'PING'],
    ['a', 'ping', 'hello'],
    ['a', 'PING', 'a', 'b'],
    ['a', inline('PING')],
    ['a', inline('PING "a\\x41\\n"')],
    ['a', inline("  echo   'it\\'s'  ")],
    ['a', Buffer.from('\r\n\r\nPING\r\n')],
    ['a', Buffer.from('*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n')],
    ['a', Buffer.from('*1\r\n$4\r\nPINGxx')],
    ['a', 'ECHO', 'x\r\ny'],
    ['a', 'ECHO'],
    ['a', 'ECHO', 'a', 'b'],
    ['a', 'SELECT', '0'],
    ['a', 'SELECT', 'x'],
    ['a', 'SELECT', '99'],
    ['a', 'SELECT'],
    ['a', 'CLIENT', 'GETNAME'],
    ['a', 'CLIENT', 'SETNAME', 'me'],
    ['a', 'CLIENT', 'GETNAME'],
    ['a', 'CLIENT', 'SETNAME', 'a b'],
    ['a', 'CLIENT', 'SETNAME', ''],
    ['a', 'CLIENT', 'GETNAME'],
    ['a', 'CLIENT', 'SETNAME'],
    ['a', 'CLIENT', 'NO-EVICT', 'on'],
    ['a', 'CLIENT', 'NO-EVICT', 'maybe'],
    ['a', 'CLIENT', 'nosuch'],
    ['a', 'CLIENT'],
    ['a', 'CLIENT', 'LIST', 'ID', 'x'],
    ['a', 'CLIENT', 'LIST', 'ID', '999999999'],
    ['a', 'CLIENT', 'LIST', 'ID', '0', '-1'],
    ['a', 'CLIENT', 'LIST', 'TYPE', 'nosuch'],
    ['a', 'CLIENT', 'LIST', 'TYPE', 'replica'],
    ['a', 'CLIENT', 'LIST', 'TYPE', 'pubsub'],
    ['a', 'CLIENT', 'LIST', 'TYPE', 'normal', 'x'],
    ['a', 'CLIENT', 'HELP', 'x'],
    ['a', 'COMMAND', 'HELP', 'x'],
    ['a', 'PUBSUB', 'HELP', 'x'],
    ['a', 'PUBSUB', 'HELP'],
    ['a', 'CLIENT', 'LIST', 'nosuch'],
    ['a', 'AUTH', 'x'],
    ['a', 'AUTH', 'default', 'x'],
    ['a', 'AUTH', 'nobody', 'x'],
    ['a', 'AUTH', 'a', 'b', 'c'],
    ['a', 'AUTH'],
    ['a', 'RESET'],
    ['a', 'PING'],
    ['a', 'QUIT'],
  ]);

  like('CLIENT KILL', [
    ['a', 'CLIENT', 'KILL'],
    ['a', 'CLIENT', 'KILL', '127.0.0.1:1'],
    ['a', 'CLIENT', 'KILL', 'ID'],
    ['a', 'CLIENT', 'KILL', 'ID', '999999999'],
    ['a', 'CLIENT', 'KILL', 'ID', '0'],
    ['a', 'CLIENT', 'KILL', 'ID', 'x'],
    ['a', 'CLIENT', 'KILL', 'ID', '999999999', 'ADDR'],
    ['a', 'CLIENT', 'KILL', 'ADDR', '127.0.0.1:1', 'LADDR', 'x'],
    ['a', 'CLIENT', 'KILL', 'TYPE', 'nosuch'],
    ['a', 'CLIENT', 'KILL', 'TYPE', 'master'],
    ['a', 'CLIENT', 'KILL', 'USER', 'nosuch'],
    ['a', 'CLIENT', 'KILL', 'SKIPME', 'maybe'],
    ['a', 'CLIENT', 'KILL', 'nosuch', 'x'],
    ['a', 'CLIENT', 'KILL', 'TYPE', 'pubsub'],
    ['b', 'SUBSCRIBE', 'c'],
    ['c', 'PING'],
    ['a', 'CLIENT', 'KILL', 'type', 'pubsub', 'user', 'default'],
    ['a', 'CLIENT', 'KILL', 'TYPE', 'normal'],
    ['a', 'CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'no'],
    ['a', 'PING'],
    ['a', 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no'],
  ]);

  like('CLIENT REPLY', [
    ['a', 'CLIENT', 'REPLY'],
    ['a', 'CLIENT', 'REPLY', 'nosuch'],
    ['a', 'CLIENT', 'REPLY', 'on'],
    ['a', requests('CLIENT REPLY SKIP', 'SET k 1', 'GET k')],
    ['a', requests('CLIENT REPLY SKIP', 'nosuch', 'GET', 'GET k'), 2],
    ['a', requests('CLIENT REPLY SKIP', 'CLIENT REPLY SKIP', 'PING', 'PING hello')],
    ['a', requests('CLIENT REPLY OFF', 'INCR k', 'GET', 'nosuch', 'CLIENT REPLY SKIP', 'PING', 'CLIENT REPLY ON')],
    ['a', 'GET', 'k'],
    ['a', requests('CLIENT REPLY OFF', 'SUBSCRIBE c', 'PING')],
    ['b', 'PUBLISH', 'c', 'hello'],
    ['a', 1],
    ['a', 'UNSUBSCRIBE', 'c'],
    ['a', requests('SUBSCRIBE c', 'PUBLISH c own', 'RESET'), version === 3 ? 3 : 2],
    ['a', 'PING'],
  ]);

  like(
    'HELLO',
    [
      ['a', 'HELLO', '4'],
      ['a', 'HELLO', '1'],
      ['a', 'HELLO', 'x'],
      ['a', 'HELLO', '3', 'SETNAME', 'a b'],
      ['a', 'HELLO', '3', 'SETNAME'],
      ['a', 'HELLO', '3', 'AUTH', 'x'],
      ['a', 'HELLO', '3', 'AUTH', 'nobody', 'x'],
      ['a', 'HELLO', '3', 'nosuch'],
      ['a', 'HELLO'],
      ['a', 'HELLO', '3', 'AUTH', 'default', 'x', 'SETNAME', 'me'],
      ['a', 'CLIENT', 'GETNAME'],
      ['a', 'HELLO', '2'],
      ['a', 'HELLO', '3'],
      ['a', 'CLIENT', 'ID'],
      ['a', 'RESET'],
      ['a', 'GET', 'nothing'],
    ],
    { masks: ['version', 'id'] },
  );

  like('unknown commands and wrong numbers of arguments', [
    ['a', 'nosuch'],
    ['a', 'nosuch', 'a', 'b\r\nc'],
    ['a', 'nosuch', 'x'.repeat(200), 'y'],
    ['a', 'nosuch', 'x'.repeat(100), 'y'.repeat(100), 'z'],
    ['a', 'n'.repeat(300), 'x'],
    ['a', ''],
    ['a', 'GET'],
    ['a', 'get', 'a', 'b'],
    ['a', 'SET', 'a'],
    ['a', 'MSET', 'a', 'b', 'c'],
    ['a', 'MSET', 'a'],
    ['a', 'PUBLISH', 'a'],
    ['a', 'SUBSCRIBE'],
    ['a', 'PUBSUB'],
    ['a', 'PUBSUB', 'nosuch'],
    ['a', 'PUBSUB', 'numpat', 'x'],
    ['a', 'PUBSUB', 'CHANNELS', 'a', 'b'],
    ['a', 'COMMAND', 'nosuch'],
    ['a', 'COMMAND', 'COUNT', 'x'],
    ['a', 'COMMAND', 'INFO', 'nosuch'],
    ['a', 'COMMAND', 'DOCS', 'nosuch'],
    ['a', 'TIME', 'x'],
    ['a', 'DBSIZE', 'x'],
  ]);

  like('keys', [
    ['a', 'GET', 'k'],
    ['a', 'SET', 'k', 'v'],
    ['a', 'GET', 'k'],
    ['a', 'SET', 'k', 'w', 'GET'],
    ['a', 'SET', 'k', 'w', 'NX'],
    ['a', 'SET', 'n', 'w', 'XX'],
    ['a', 'SET', 'n', 'w', 'NX'],
    ['a', 'SET', 'n', 'x', 'XX', 'GET'],
    ['a', 'SET', 'n', 'x', 'NX', 'GET'],
    ['a', 'SET', 'm', 'x', 'nx', 'get'],
    ['a', 'SET', 'k', 'x', 'NX', 'XX'],
    ['a', 'SET', 'k', 'x', 'nosuch'],
    ['a', 'SET', 'k', 'x', 'KEEPTTL'],
    ['a', 'SET', '', ''],
    ['a', 'GET', ''],
    ['a', 'SETNX', 'k', 'y'],
    ['a', 'SETNX', 'fresh', 'y'],
    ['a', 'GETDEL', 'fresh'],
    ['a', 'GETDEL', 'fresh'],
    ['a', 'EXISTS', 'k', 'k', 'nothing'],
    ['a', 'MSET', 'x', '1', 'y', '2', 'x', '3'],
    ['a', 'MGET', 'x', 'y', 'nothing'],
    ['a', 'DBSIZE'],
    ['a', 'DEL', 'x', 'x', 'nothing', 'y'],
    ['a', 'INCR', 'i'],
    ['a', 'INCRBY', 'i', '41'],
    ['a', 'INCRBY', 'i', '-50'],
    ['a', 'GET', 'i'],
    ['a', 'INCRBY', 'i', 'x'],
    ['a', 'INCRBY', 'i', '9223372036854775808'],
    ['a', 'INCR', 'k'],
    ['a', 'SET', 'i', '9223372036854775807'],
    ['a', 'INCR', 'i'],
    ['a', 'INCRBY', 'i', '-9223372036854775808'],
    ['a', 'SET', 'i', ' 1'],
    ['a', 'INCR', 'i'],
    ['a', 'DEL', 'k', 'n', 'm', 'i', ''],
    ['a', 'KEYS', '*'],
    ['a', 'SCAN', '0'],
    ['a', 'SET', 'one', '1'],
    ['a', 'KEYS', 'o?[a-f]'],
    ['a', 'KEYS', 'x*'],
    ['a', 'SCAN', '0', 'MATCH', 'o*', 'COUNT', '100'],
    ['a', 'SCAN', '0', 'TYPE', 'list'],
    ['a', 'SCAN', '0', 'TYPE', 'string'],
    ['a', 'SCAN', ''],
    ['a', 'SCAN', '+0'],
    ['a', 'SCAN', '-'],
    ['a', 'SCAN', ' 0'],
    ['a', 'SCAN', '99999999999999999999'],
    ['a', 'SCAN', 'x'],
    ['a', 'SCAN', '0', 'COUNT', 'x'],
    ['a', 'SCAN', '0', 'COUNT', '0'],
    ['a', 'SCAN', '0', 'nosuch', '0'],
    ['a', 'SCAN', '0', 'MATCH'],
    ['a', 'SCAN'],
  ]);

  like(
    'keys that end',
    [
      ['a', 'SET', 'e', '1', 'EX', '100'],
      ['a', 'TTL', 'e'],
      ['a', 'SET', 'e', '2', 'KEEPTTL'],
      ['a', 'INCR', 'e'],
      ['a', 'TTL', 'e'],
      ['a', 'SET', 'e', '4'],
      ['a', 'TTL', 'e'],
      ['a', 'PTTL', 'e'],
      ['a', 'EXPIRE', 'e', '50'],
      ['a', 'EXPIRE', 'e', '60', 'GT'],
      ['a', 'EXPIRE', 'e', '10', 'GT'],
      ['a', 'EXPIRE', 'e', '70', 'LT'],
      ['a', 'EXPIRE', 'e', '10', 'NX'],
      ['a', 'TTL', 'e'],
      ['a', 'PEXPIRE', 'e', '30000', 'XX'],
      ['a', 'TTL', 'e'],
      ['a', 'PERSIST', 'e'],
      ['a', 'PERSIST', 'e'],
      ['a', 'EXPIRE', 'e', '10', 'XX'],
      ['a', 'EXPIRE', 'e', '10', 'GT'],
      ['a', 'EXPIRE', 'e', '20', 'LT'],
      ['a', 'TTL', 'e'],
      ['a', 'EXPIRE', 'e', 'x'],
      ['a', 'EXPIRE', 'e', '9223372036854775807'],
      ['a', 'PEXPIRE', 'e', '9223372036854775807'],
      ['a', 'EXPIRE', 'e', '10', 'nosuch'],
      ['a', 'EXPIRE', 'e', '10', 'NX', 'XX'],
      ['a', 'EXPIRE', 'e', '10', 'GT', 'LT'],
      ['a', 'EXPIRE', 'e', '-1'],
      ['a', 'EXISTS', 'e'],
      ['a', 'TTL', 'e'],
      ['a', 'EXPIRE', 'e', '10'],
      ['a', 'PERSIST', 'e'],
      ['a', 'SET', 'e', '1', 'EX', '0'],
      ['a', 'SET', 'e', '1', 'PX', '-5'],
      ['a', 'SET', 'e', '1', 'EX', 'x'],
      ['a', 'SET', 'e', '1', 'EX', '9223372036854775807'],
      ['a', 'SET', 'e', '1', 'EX'],
      ['a', 'SET', 'e', '1', 'EX', '10', 'PX', '10'],
      ['a', 'SET', 'e', '1', 'EX', '10', 'KEEPTTL'],
      ['a', 'SET', 'e', '1', 'PX', '100000', 'NX', 'GET'],
      ['a', 'TTL', 'e'],
      ['a', 'SET', 'e', '1', 'EXAT', '99999999999'],
      ['a', 'GET', 'e'],
      ['a', 'SET', 'e', '1', 'PXAT', '1'],
      ['a', 'GET', 'e'],
      ['a', 'EXISTS', 'e'],
      ['a', 'KEYS', '*'],
      ['a', 'DBSIZE'],
    ],
    { isTimed: true },
  );

  like('publish and subscribe', [
    ['a', 'SUBSCRIBE', 'one', 'two', 'one', 3],
    ['a', 'PSUBSCRIBE', 't*', '[a-o]ne', 2],
    ['b', 'PUBSUB', 'NUMSUB', 'one', 'two', 'three'],
    ['b', 'PUBSUB', 'NUMSUB'],
    ['b', 'PUBSUB', 'NUMPAT'],
    ['b', 'PUBSUB', 'CHANNELS', 'on*'],
    ['b', 'PUBSUB', 'CHANNELS', 'x'],
    ['b', 'PUBLISH', 'nobody', 'x'],
    ['b', 'PUBLISH', 'one', 'hello'],
    ['a', 2],
    ['b', 'PUBLISH', 'three', Buffer.from([0, 255, 13, 10])],
    ['a', 1],
    ['a', 'PING'],
    ['a', 'PING', 'word'],
    ['a', 'GET', 'k'],
    ['a', 'PUBLISH', 'one', 'own', ...(version === 3 ? [3] : [])],
    ['a', 'UNSUBSCRIBE', 'two', 'nosuch', 2],
    ['a', 'UNSUBSCRIBE'],
    ['a', 'UNSUBSCRIBE'],
    ['a', 'PUNSUBSCRIBE', 't*', '[a-o]ne', 2],
    ['a', 'PUNSUBSCRIBE'],
    ['a', 'GET', 'k'],
    ['a', 'SSUBSCRIBE', 'one', 'two', 2],
    ['a', 'SUBSCRIBE', 'one'],
    ['b', 'PUBSUB', 'SHARDCHANNELS', 'o*'],
    ['b', 'PUBSUB', 'SHARDNUMSUB', 'one', 'x'],
    ['b', 'PUBSUB', 'CHANNELS'],
    ['b', 'SPUBLISH', 'one', 'sharded'],
    ['a', 1],
    ['b', 'PUBLISH', 'one', 'plain'],
    ['a', 1],
    ['b', 'PUBLISH', 'two', 'not to shard channels'],
    ['a', 'SUNSUBSCRIBE', 'one'],
    ['a', 'SUNSUBSCRIBE'],
    ['a', 'SUNSUBSCRIBE'],
    ['a', 'RESET'],
    ['b', 'PUBLISH', 'one', 'x'],
    ['a', 'PING'],
    ['b', 'SUBSCRIBE', ''],
    ['a', 'PUBLISH', '', 'to the empty name'],
    ['b', 1],
    ['b', 'QUIT'],
  ]);

  like('INFO and TIME', [['a', 'TIME']], { masks: ['time'] });
}

/** What Redis says before it ends a connection. */
for (const [name, bytes] of Object.entries({
  'a count that is none': '*x\r\n',
  'too many arguments': '*2147483648\r\n',
  'a length that is none': '*1\r\n$x\r\n',
  'a negative length': '*1\r\n$-5\r\n',
  'something else than an argument': '*1\r\n:1\r\n',
  'an empty line instead of an argument': '*1\r\n\r\n',
  'a quote that does not close': 'get "a\r\n',
  'an HTTP request that a page can make a browser send': 'POST / HTTP/1.1\r\nAccept: *\r\n\r\nSET k v\r\n',
  'another one': 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\nSET k v\r\n',
  'its header as an argument': '*1\r\n$5\r\nhOsT:\r\n*1\r\n$4\r\nPING\r\n',
  'an endless line': 'x'.repeat(70_000),
  'an endless count': `*${'1'.repeat(70_000)}`,
  'an endless length': `*1\r\n$${'1'.repeat(70_000)}`,
})) {
  withRedis(`the last words: ${name}`, async (t) => {
    const ours = await ownServer(t, OPTIONS);
    const words = [];
    for (const address of [`127.0.0.1:${redis.port}`, ours.addresses[0]]) {
      const client = await connect(t, address);
      client.send(Buffer.from(`PING\r\n${bytes}`));
      await client.over();
      words.push(client.left);
    }
    t.is(words[1], words[0]);
  });
}
