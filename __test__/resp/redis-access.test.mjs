// Passwords and users as in a real redis-server: the same permissions and the same errors, in RESP2 and RESP3.
import test from 'ava';

import { compare, comparison, emptied } from '../support/resp-compare.mjs';

const BOB = 'publish psubscribe subscribe spublish ssubscribe unsubscribe client|id get set mset del ping';
const { redis, withRedis, serve } = comparison(test, {
  args: [
    ...['--requirepass', 'secret'],
    ...`--user bob on >b resetchannels &news:* &chat ~bob:* -@all +${BOB.replaceAll(' ', ' +')}`.split(' '),
    ...'--user eve on >e allchannels ~eve:* +@all'.split(' '),
  ],
  listener: {
    password: 'secret',
    users: [
      { name: 'bob', password: 'b', channels: ['news:*', 'chat'], keys: ['bob:*'], commands: BOB.split(' ') },
      { name: 'eve', password: 'e', keys: ['eve:*'] },
    ],
  },
});

for (const version of ['2', '3']) {
  const like = (title, steps, options) =>
    withRedis(`RESP${version}: ${title}`, async (t) => {
      const server = await serve(t);
      await compare(t, () => emptied(redis, server, ['-a', 'secret', '--no-auth-warning']), steps, {
        masks: ['version', 'id'],
        ...options,
      });
    });

  const commands = [
    ...[
      'PING',
      'ECHO x',
      'SELECT 0',
      'GET k',
      'GET',
      'SET k v',
      'GETDEL k',
      'SETNX k v',
      'DEL k',
      'EXISTS k',
      'MGET k',
    ],
    ...[
      'MSET k v',
      'INCR k',
      'INCRBY k 1',
      'KEYS *',
      'SCAN 0',
      'DBSIZE',
      'EXPIRE k 1',
      'PEXPIRE k 1',
      'TTL k',
      'PTTL k',
    ],
    ...['PERSIST k', 'SUBSCRIBE a', 'UNSUBSCRIBE', 'PSUBSCRIBE a*', 'PUNSUBSCRIBE', 'SSUBSCRIBE a', 'SUNSUBSCRIBE'],
    ...['PUBLISH a b', 'SPUBLISH a b', 'PUBSUB CHANNELS', 'PUBSUB NUMSUB', 'PUBSUB NUMPAT', 'PUBSUB SHARDCHANNELS'],
    ...[
      'PUBSUB SHARDNUMSUB',
      'PUBSUB HELP',
      'PUBSUB',
      'CLIENT SETNAME a',
      'CLIENT GETNAME',
      'CLIENT ID',
      'CLIENT INFO',
    ],
    ...[
      'CLIENT LIST',
      'CLIENT NO-EVICT on',
      'CLIENT KILL ID 1',
      'CLIENT REPLY ON',
      'CLIENT HELP',
      'CLIENT',
      'CLIENT nosuch',
    ],
    ...['COMMAND', 'COMMAND COUNT', 'COMMAND DOCS', 'COMMAND INFO', 'COMMAND LIST', 'INFO', 'TIME', 'MULTI'],
    ...['DISCARD', 'UNWATCH', 'MONITOR', 'nosuch', 'nosuch a'],
  ].map((line) => line.split(' '));

  like('a client before it authenticates', [
    ...commands.map((words) => ['a', ...words]),
    ['a', 'HELLO'],
    ['a', 'HELLO', version],
    ['a', 'HELLO', '4'],
    ['a', 'HELLO', 'x'],
    ['a', 'HELLO', version, 'SETNAME', 'me'],
    ['a', 'HELLO', version, 'SETNAME', 'a b'],
    ['a', 'HELLO', version, 'nosuch'],
    ['a', 'RESET'],
    ['a', 'AUTH'],
    ['a', 'AUTH', 'a', 'b', 'c'],
    ['a', 'QUIT'],
  ]);

  like('wrong passwords', [
    ['a', 'AUTH', 'x'],
    ['a', 'AUTH', 'default', 'x'],
    ['a', 'AUTH', 'nobody', 'secret'],
    ['a', 'AUTH', 'bob', 'secret'],
    ['a', 'HELLO', version, 'AUTH', 'default', 'x'],
    ['a', 'HELLO', version, 'AUTH', 'default'],
    ['a', 'PING'],
    ['a', 'GET', 'k'],
    ['a', 'AUTH', 'secret'],
    ['a', 'PING'],
    // a client stays authenticated after a failed AUTH
    ['a', 'AUTH', 'eve', 'x'],
    ['a', 'SET', 'k', 'v'],
  ]);

  like('HELLO runs its steps in order', [
    ['a', 'HELLO', version, 'AUTH', 'default', 'secret', 'SETNAME', 'a b'],
    ['a', 'PING'],
    ['a', 'CLIENT', 'GETNAME'],
    ['b', 'HELLO', version, 'SETNAME', 'me', 'AUTH', 'default', 'secret'],
    ['b', 'CLIENT', 'GETNAME'],
    ['b', 'HELLO', version, 'SETNAME', 'you', 'nosuch'],
    ['b', 'CLIENT', 'GETNAME'],
    ['b', 'RESET'],
    ['b', 'PING'],
    ['c', 'HELLO', version, 'SETNAME', 'unauthenticated'],
    ['c', 'AUTH', 'secret'],
    ['c', 'CLIENT', 'GETNAME'],
  ]);

  like('a user with few permissions', [
    ['a', 'HELLO', version, 'AUTH', 'bob', 'b'],
    ...commands.filter(([name]) => !/SUBSCRIBE$/.test(name)).map((words) => ['a', ...words]),
    ['a', 'GET', 'bob:1'],
    ['a', 'SET', 'bob:1', 'v'],
    ['a', 'MSET', 'bob:1', 'v', 'k', 'v'],
    ['a', 'MSET', 'bob:1', 'v', 'k'],
    ['a', 'MSET', 'bob:1', 'v', 'bob:2', 'v'],
    ['a', 'DEL', 'bob:1', 'k'],
    ['a', 'DEL', 'bob:1', 'bob:2'],
    ['a', 'PUBLISH', 'news:1', 'x'],
    ['a', 'PUBLISH', 'news', 'x'],
    ['a', 'SPUBLISH', 'chat', 'x'],
    ['a', 'SPUBLISH', 'chats', 'x'],
    ['a', 'SUBSCRIBE', 'news:1', 'x'],
    ['a', 'SUBSCRIBE', 'news:1', 'chat', 2],
    ['a', 'SSUBSCRIBE', 'x'],
    ['a', 'SSUBSCRIBE', 'chat'],
    ['a', 'PSUBSCRIBE', 'news:a*'],
    ['a', 'PSUBSCRIBE', 'chat', 'news:*', 2],
    ['a', 'PUNSUBSCRIBE'],
    ['a', 'UNSUBSCRIBE', 'chat'],
    ['a', 'RESET'],
    ['a', 'PING'],
  ]);

  like(
    'a user with access to some keys',
    [
      ['a', 'HELLO', version, 'AUTH', 'eve', 'e'],
      ...['GET', 'GETDEL', 'EXISTS', 'INCR', 'TTL', 'PTTL', 'PERSIST', 'DEL', 'MGET'].flatMap((name) => [
        ['a', name, 'x'],
        ['a', name, 'eve:x'],
      ]),
      ...['SETNX', 'INCRBY', 'EXPIRE', 'PEXPIRE', 'SET', 'MSET'].flatMap((name) => [
        ['a', name, 'x', '1'],
        ['a', name, 'eve:x', '1'],
      ]),
      ['a', 'MGET', 'eve:x', 'x'],
      ['a', 'PUBLISH', 'room', 'x'],
      ['a', 'DBSIZE'],
      ['a', 'AUTH', 'bob', 'b'],
      ['a', 'GET', 'eve:x'],
      ['a', 'GET', 'bob:x'],
      ['a', 'AUTH', 'secret'],
      ['a', 'GET', 'eve:x'],
    ],
    // one of its keys expires after a second
    { isTimed: true },
  );

  like(
    'a subscriber that authenticates as another user',
    [
      ['a', 'HELLO', version, 'AUTH', 'default', 'secret'],
      ['a', 'SUBSCRIBE', 'room'],
      ['a', 'MULTI'],
      ['a', 'CLIENT', 'nosuch'],
      ['a', 'RESET'],
      ['a', 'MULTI'],
    ].filter(([, name]) => version === '2' || name !== 'MULTI'),
  );
}
