// What must hold for channels with history on two nodes, whichever server they share: one order and the same numbers.
import { until } from './deadline.mjs';
import { Follower } from './history-nodes.mjs';
import * as resp from './resp.mjs';
import { speak } from './v1.mjs';

const codes = async (node) => (await node.errors()).map((error) => error.code);

/** The next publications of a client, without their times. */
async function publications(client, count) {
  const all = [];
  while (all.length < count) {
    const [{ ts, ...header }, ...payload] = await client.next();
    all.push([header, ...payload]);
  }
  return all;
}

/** Declares the tests. `withStore` runs them only where the server is installed; `nodes`: those of `sharedNodes`. */
export function storedHistories(withStore, nodes) {
  const [here, there] = nodes;

  withStore('both nodes see one order, and the same numbers', async (t) => {
    const followers = [];
    for (const node of [here, there, here, there]) followers.push(await Follower.enter(t, node, 'room:order'));
    const clients = [await speak(t, here), await speak(t, there)];
    const COUNT = 50;
    const publish = nodes.flatMap((node, own) => [
      (n) => node.call('publish', 'room:order', `js ${own} ${n}`),
      (n) => node.call('send', 'room:order', `sent ${own} ${n}`),
      (n) => clients[own].ask({ t: 'pub', c: 'room:order' }, `client ${own} ${n}`),
    ]);
    const each = async (one) => {
      const results = [];
      for (let n = 0; n < COUNT; n++) results.push(await one(n));
      return results;
    };
    const [published, , asked] = await Promise.all(publish.map(each));
    for (const follower of followers) {
      await follower.has(6 * COUNT);
      t.deepEqual(follower.violations, []);
      t.deepEqual(follower.got, followers[0].got);
      t.deepEqual(follower.gaps, []);
    }
    const { got } = followers[0];
    t.deepEqual([got[0][0], got.length], [1, 6 * COUNT]);
    // each publisher's own order stays, and it is told the number that everyone sees
    for (const name of ['js 0', 'sent 0', 'client 0', 'js 1', 'sent 1', 'client 1']) {
      const own = got.filter(([, payload]) => payload.startsWith(`${name} `)).map(([, payload]) => payload);
      t.deepEqual(
        own,
        Array.from({ length: COUNT }, (_, n) => `${name} ${n}`),
      );
    }
    const { e } = followers[0].answer;
    const offsetOf = (payload) => got.find(([, found]) => found === payload)[0];
    t.deepEqual(
      published.map(({ position }) => position),
      published.map((_, n) => ({ epoch: e, offset: offsetOf(`js 0 ${n}`) })),
    );
    t.is(published[0].deliveries, 2, 'the subscribers of the node');
    t.deepEqual(
      asked.map(({ t: type, ...position }) => [type, position]),
      asked.map((_, n) => ['ok', { e, o: offsetOf(`client 0 ${n}`) }]),
    );
  });

  withStore('a client that comes back to another node gets everything that it has missed', async (t) => {
    const first = await Follower.enter(t, here, 'room:move');
    for (let n = 1; n <= 20; n++) await there.call('publish', 'room:move', `${n}`);
    await first.has(20);
    first.cut();
    for (let n = 21; n <= 60; n++) await here.call('publish', 'room:move', `${n}`);
    const second = await Follower.enter(t, there, 'room:move', { since: first.position });
    t.like(second.answer, { recovered: true, o: 60 });
    await here.call('publish', 'room:move', '61');
    await second.has(41);
    t.deepEqual([...first.violations, ...second.violations, ...second.gaps], []);
    t.deepEqual(
      second.payloads,
      Array.from({ length: 41 }, (_, index) => `${21 + index}`),
    );
  });

  withStore('a newcomer gets the last ones on the other node, and what goes too far back is told', async (t) => {
    for (let n = 1; n <= 10; n++) await here.call('publish', 'few:last', `${n}`);
    const newcomer = await Follower.enter(t, there, 'few:last', { last: 2 });
    t.is(newcomer.answer.o, 10);
    await newcomer.has(2);
    t.deepEqual(newcomer.got, [
      [9, '9'],
      [10, '10'],
    ]);
    const client = await speak(t, there);
    const { e } = newcomer.answer;
    t.like(await client.subscribe('few:last', { since: { e, o: 2 } }), { t: 'ok', o: 10, recovered: false });
    const [result] = await there.call('subscribe', Number(client.hi.s.split('-')[1]), 'few:last', {
      since: { epoch: e, offset: 8 },
    });
    t.like(result, { recovered: true, position: { epoch: e, offset: 10 } });
  });

  withStore('what a client asks of a channel that nobody follows is done in order', async (t) => {
    const client = await speak(t, here);
    client.send({ t: 'sub', id: 1, c: 'room:new' });
    client.send({ t: 'pub', id: 2, c: 'room:new' }, 'mine');
    client.send({ t: 'unsub', id: 3, c: 'room:new' });
    client.send({ t: 'sub', id: 4, c: 'room:new', last: 10 });
    client.send({ t: 'sub', id: 5, c: 'room:new' });
    const [answers, messages] = [[], []];
    while (answers.length < 5 || messages.length < 1) {
      const [header, payload] = await client.next();
      if (header.id === undefined) messages.push([answers.includes('ok 4'), header.o, payload]);
      else answers.push(`${header.t} ${header.id}`);
      if (messages.at(-1)?.[0] === false) messages.pop();
    }
    t.deepEqual(
      answers.filter((answer) => answer !== 'ok 2'),
      ['ok 1', 'ok 3', 'ok 4', 'err 5'],
    );
    t.deepEqual(messages, [[true, 1, 'mine']], 'once for the second subscription');
    t.deepEqual(await client.all(), []);
  });

  withStore('what is kept can be read on any node, whether it follows the channel or not', async (t) => {
    const client = await speak(t, here);
    for (const payload of ['a', Buffer.from([0xff]), 'c']) await client.ask({ t: 'pub', c: 'named:kept' }, payload);
    const other = await speak(t, there);
    for (const isFollowed of [false, true]) {
      if (isFollowed) await other.subscribe('named:kept');
      const { e, ...answer } = await other.ask({ t: 'hist', c: 'named:kept' });
      t.deepEqual(answer, { t: 'ok', o: 3, n: 3 });
      const all = await publications(other, 3);
      const { re } = all[0][0];
      t.deepEqual(
        all,
        ['a', Buffer.from([0xff]), 'c'].map((payload, index) => [
          { c: 'named:kept', o: index + 1, f: client.hi.s, re },
          payload,
        ]),
      );
      t.is((await other.ask({ t: 'hist', c: 'named:kept', limit: 1, reverse: true })).n, 1);
      t.is((await publications(other, 1))[0][0].o, 3);
      t.is((await other.ask({ t: 'hist', c: 'named:kept', since: { e, o: 2 } })).n, 1);
      t.is((await publications(other, 1))[0][0].o, 3);
      t.is((await other.ask({ t: 'hist', c: 'named:kept', since: { e: '0000000000000000', o: 2 } })).n, 3);
      await publications(other, 3);
      const { position, publications: kept } = await there.call('history', 'named:kept', { limit: 2 });
      t.deepEqual(position, { epoch: e, offset: 3 });
      const [node, socket] = client.hi.s.split('-');
      t.deepEqual(
        kept.map(({ timestamp, ...rest }) => rest),
        [
          { offset: 1, data: 'a', from: Number(socket), node },
          { offset: 2, data: Buffer.from([0xff]), from: Number(socket), node },
        ],
      );
    }
    t.is((await other.ask({ t: 'hist', c: 'plain:1' })).code, 'not_found');
    await t.throwsAsync(there.call('history', 'plain:1'), { code: 'ERR_MILLRACE_NO_HISTORY' });
  });

  withStore('subscribers of the other node see who has published', async (t) => {
    const [one, other] = [await speak(t, here), await speak(t, there)];
    await other.subscribe('named:1');
    await one.ask({ t: 'pub', c: 'named:1' }, 'mine');
    t.deepEqual(await publications(other, 1), [[{ c: 'named:1', o: 1, f: one.hi.s }, 'mine']]);
  });

  withStore('a publication with a key is not doubled, on whichever node it is repeated', async (t) => {
    const first = await here.call('publish', 'room:key', 'once', { idempotencyKey: 'k' });
    const again = await there.call('publish', 'room:key', 'again', { idempotencyKey: 'k' });
    t.deepEqual(again, { ...first, deliveries: 0 });
    const client = await speak(t, there);
    t.is((await client.ask({ t: 'pub', c: 'room:key', key: 'k' }, 'and again')).o, 1);
    t.is((await client.ask({ t: 'pub', c: 'room:key', key: 'other' }, 'two')).o, 2);
  });

  withStore('a subscriber that is left out sees no hole', async (t) => {
    const [one, other, far] = [await speak(t, here), await speak(t, here), await speak(t, there)];
    for (const client of [one, other, far]) await client.subscribe('room:except');
    const id = Number(one.hi.s.split('-')[1]);
    t.is(await here.call('send', 'room:except', 'not for one', { except: id }), 1);
    await here.call('send', 'room:except', 'for all');
    t.deepEqual(await publications(one, 2), [
      [{ c: 'room:except', o: 1, x: 1 }],
      [{ c: 'room:except', o: 2 }, 'for all'],
    ]);
    for (const client of [other, far]) {
      t.deepEqual(await publications(client, 2), [
        [{ c: 'room:except', o: 1 }, 'not for one'],
        [{ c: 'room:except', o: 2 }, 'for all'],
      ]);
    }
  });

  withStore('subscribers by pattern on both nodes get each message once', async (t) => {
    const clients = [];
    for (const node of nodes) {
      const client = await speak(t, node);
      await node.call('subscribe', Number(client.hi.s.split('-')[1]), { pattern: 'room:pat*' });
      await client.all();
      clients.push(client);
    }
    const heard = async () => {
      await here.call('publish', 'room:pattern', 'probe');
      return (await clients[1].all()).length > 0;
    };
    await until(heard, 'the other node to hear the pattern');
    for (const client of clients) await client.all();
    for (let n = 0; n < 5; n++) await there.call('publish', 'room:pattern', `${n}`);
    for (const client of clients) {
      const got = [];
      while (got.length < 5) {
        const [, payload] = await client.next();
        if (payload !== 'probe') got.push(payload);
      }
      t.deepEqual(got, ['0', '1', '2', '3', '4']);
    }
  });

  withStore('a counted subscription is live, and channels without terms go as before', async (t) => {
    const client = await speak(t, there);
    const id = Number(client.hi.s.split('-')[1]);
    t.deepEqual(await there.call('subscribe', id, 'room:counted'), [id]);
    t.like((await client.next())[0], { t: 'sub', c: 'room:counted' });
    let sent = 0;
    const arrives = async () => {
      await here.call('publish', 'room:counted', `${++sent}`);
      return (await client.all()).some(([{ o }, payload]) => o > 0 && payload !== undefined);
    };
    await until(arrives, 'a message of the other node');
    const other = await speak(t, there);
    await other.subscribe('plain:2');
    const comes = async () => {
      await here.call('send', 'plain:2', 'text');
      return (await other.all()).some(([header, payload]) => payload === 'text' && header.o === undefined);
    };
    await until(comes, 'a plain message of the other node');
    t.deepEqual(await codes(here), []);
  });

  withStore('PUBLISH is answered when the store has the message, in the order of the commands', async (t) => {
    const follower = await Follower.enter(t, there, 'room:resp');
    const client = await resp.connect(t, here.addresses[1]);
    client.send('PUBLISH', 'room:resp', 'one');
    client.send('PING');
    client.send('PUBLISH', 'plain:resp', 'plain');
    client.send('PUBLISH', 'room:resp', 'two');
    client.send('PING', 'end');
    t.deepEqual(await client.take(5), [':0\r\n', '+PONG\r\n', ':0\r\n', ':0\r\n', '$3\r\nend\r\n']);
    await follower.has(2);
    t.deepEqual(follower.got, [
      [1, 'one'],
      [2, 'two'],
    ]);
    await client.ask('SUBSCRIBE', 'room:resp');
    const other = await resp.connect(t, here.addresses[1]);
    t.is(await other.ask('PUBLISH', 'room:resp', 'three'), ':1\r\n');
  });

  withStore('many publications of one connection are under way at once, and are answered in their order', async (t) => {
    const follower = await Follower.enter(t, there, 'room:resp-many');
    const client = await resp.connect(t, here.addresses[1]);
    const count = 1000;
    const publish = (channel, text) => {
      const parts = ['PUBLISH', channel, text];
      return `*3\r\n${parts.map((part) => `$${part.length}\r\n${part}\r\n`).join('')}`;
    };
    const commands = Array.from({ length: count }, (_, index) => publish('room:resp-many', `text ${index + 1}`));
    // beside them: a plain channel, one that has nobody, a wrong number of arguments, silence, and what ends the pipeline
    commands.splice(500, 0, publish('plain:resp', 'plain'), '*2\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n');
    commands.push('*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$4\r\nSKIP\r\n');
    commands.push(publish('room:resp-many', 'without an answer'), publish('room:resp-many', 'last'));
    client.send(Buffer.from(commands.join('')));
    client.send('PING', 'end');
    const answers = await client.take(count + 4);
    t.deepEqual(answers.splice(500, 2), [':0\r\n', "-ERR wrong number of arguments for 'publish' command\r\n"]);
    t.deepEqual(new Set(answers.splice(0, count + 1)), new Set([':0\r\n']));
    t.deepEqual(answers, ['$3\r\nend\r\n']);
    await follower.has(count + 2);
    const texts = [...Array.from({ length: count }, (_, index) => `text ${index + 1}`), 'without an answer', 'last'];
    t.deepEqual(
      follower.got,
      texts.map((text, index) => [index + 1, text]),
    );
  });
}
