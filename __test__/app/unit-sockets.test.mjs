// The WebSockets of an app: which of them it keeps. Without a network.
import { createRequire } from 'node:module';
import test from 'ava';

const { Sockets } = createRequire(import.meta.url)('../../js/dist/http/app-sockets.js');

/** Sockets of a gateway where every socket exists. */
function made(open) {
  const sockets = new Sockets();
  sockets.belongTo({ getDebugState: () => ({}) });
  const asked = [];
  sockets.add('/', { open, message: (_socket, message) => void asked.push(message) });
  const request = { url: '/', path: '/', headers: {}, protocols: ['a'] };
  return { asked, sockets, open: () => sockets.open(1, '127.0.0.1', request) };
}

test('one that is accepted is remembered until its close', async (t) => {
  for (const answer of [true, undefined, null, {}, { protocol: 'a' }]) {
    for (const promised of [false, true]) {
      const { asked, sockets, open } = made(() => (promised ? Promise.resolve(answer) : answer));
      t.is(await open(), answer);
      sockets.message(1, 'before');
      sockets.close(1, 1000, '');
      sockets.message(1, 'after');
      t.deepEqual(asked, ['before']);
    }
  }
});

test('an app does not keep a socket that is refused, or whose open returns an invalid answer', async (t) => {
  for (const answer of [false, { status: 403 }]) {
    const { asked, sockets, open } = made(() => answer);
    t.is(await open(), answer);
    sockets.message(1, 'who is this?');
    t.deepEqual(asked, []);
  }
  for (const answer of [{ protocol: 'b' }, { status: 99 }, { headers: { a: 'b\nc' } }, { token: () => {} }]) {
    for (const promised of [false, true]) {
      const { asked, sockets, open } = made(() => (promised ? Promise.resolve(answer) : answer));
      await t.throwsAsync(async () => open(), { instanceOf: TypeError });
      sockets.message(1, 'who is this?');
      t.deepEqual(asked, []);
    }
  }
});

test('a socket sends with the options that it is given', async (t) => {
  const sent = [];
  const sockets = new Sockets();
  const send = (...given) => {
    if (given[2] === null) throw new TypeError('options');
    sent.push(given);
  };
  sockets.belongTo({ getDebugState: () => ({}), send });
  const open = (socket) => {
    socket.send('plain');
    socket.send('image', { compress: false });
    socket.publish('channel', 'to others');
    socket.publish('channel', 'image', { compress: false });
    socket.publish('channel', 'to all', { except: [] });
    t.throws(() => socket.publish('channel', 'x', null), { instanceOf: TypeError });
  };
  sockets.add('/', { open });
  await sockets.open(7, '127.0.0.1', { url: '/', path: '/', headers: {}, protocols: [] });
  t.deepEqual(sent, [
    [7, 'plain'],
    [7, 'image', { compress: false }],
    ['channel', 'to others', { except: 7 }],
    ['channel', 'image', { compress: false, except: 7 }],
    ['channel', 'to all', { except: [] }],
  ]);
});
