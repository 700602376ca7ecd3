// Channels with history on two nodes that share a NATS: a node is killed, and the server is restarted, suspended, or has no
// JetStream.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Follower, isBack, isStore, mortalNodes } from '../support/history-nodes.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { speak } from '../support/v1.mjs';

const withNats = needingNats(test.serial);
const FAILED = ['ERR_MILLRACE_HISTORY_UNAVAILABLE', 'ERR_MILLRACE_PUBLICATION_UNKNOWN'];

withNats('the clients of a node that dies go on with another one, without a hole', async (t) => {
  const nats = await Nats.withStreams(t);
  const [here, there] = await mortalNodes(t, nats.url);
  const first = await Follower.enter(t, here, 'room:1');
  const published = [];
  let ended = false;
  t.teardown(() => {
    ended = true;
  });
  const publishing = (async () => {
    for (let n = 0; !ended; n++) {
      await there.call('publish', 'room:1', `${n}`);
      published.push(`${n}`);
    }
  })();
  await first.has(50);
  here.kill();
  await until(() => first.isOver, 'the end of the connection');
  const second = await Follower.enter(t, there, 'room:1', { since: first.position });
  t.is(second.answer.recovered, true);
  await second.has(50);
  ended = true;
  await publishing;
  await second.has(published.length - first.got.length);
  t.deepEqual([...first.payloads, ...second.payloads], published);
  t.deepEqual([...first.violations, ...second.violations, ...first.gaps, ...second.gaps], []);
});

withNats(
  'while the server is away publishing fails, and afterwards nothing that was published is missing',
  async (t) => {
    const nats = await Nats.withStreams(t);
    const nodes = await mortalNodes(t, nats.url);
    const followers = await Promise.all(nodes.map((node) => Follower.enter(t, node, 'room:1')));
    const outcomes = { published: new Map(), failed: [] };
    let ended = false;
    t.teardown(() => {
      ended = true;
    });
    const publishing = nodes.map(async (node, own) => {
      for (let n = 0; !ended; n++) {
        try {
          const { position } = await node.call('publish', 'room:1', `${own} ${n}`);
          outcomes.published.set(`${own} ${n}`, position);
        } catch (error) {
          outcomes.failed.push(error.code);
        }
      }
    });
    await Promise.all(followers.map((follower) => follower.has(50)));
    await nats.stop();
    await until(() => outcomes.failed.length > 0, 'a failure');
    await isStore(nodes[0], 'lost');
    t.like(await (await speak(t, nodes[0])).ask({ t: 'pub', c: 'room:1' }, 'lost'), { t: 'err', code: 'failed' });
    await nats.launchAgain();
    await Promise.all(nodes.map(isBack));
    const size = outcomes.published.size;
    await until(() => outcomes.published.size > size + 50, 'publications after the outage');
    ended = true;
    await Promise.all(publishing);
    t.deepEqual(
      outcomes.failed.filter((code) => !FAILED.includes(code)),
      [],
    );
    const epochs = new Set([...outcomes.published.values()].map(({ epoch }) => epoch));
    t.is(epochs.size, 1, 'numbers go on');
    const newest = Math.max(...[...outcomes.published.values()].map(({ offset }) => offset));
    for (const follower of followers) {
      await until(() => follower.position.o >= newest, 'the newest message');
      t.deepEqual([...follower.violations, ...follower.gaps], []);
      const got = new Map(follower.got.map(([offset, payload]) => [payload, offset]));
      t.true([...outcomes.published].every(([payload, { offset }]) => got.get(payload) === offset));
    }
  },
);

withNats('a publication without an answer is unknown, and with a key it is not doubled', async (t) => {
  const nats = await Nats.withStreams(t);
  const [here, there] = await mortalNodes(t, nats.url);
  const follower = await Follower.enter(t, there, 'room:1');
  await here.call('publish', 'room:1', 'first');
  const client = await speak(t, here);
  await nats.pause();
  const waiting = here.call('publish', 'room:1', 'second', { idempotencyKey: 'k' });
  const asked = client.ask({ t: 'pub', c: 'room:2' }, 'other');
  await t.throwsAsync(waiting, { code: 'ERR_MILLRACE_PUBLICATION_UNKNOWN' });
  // it had to ask for the numbers of this channel first
  t.like(await asked, { t: 'err', code: 'failed' });
  nats.goOn();
  const again = () => here.call('publish', 'room:1', 'second', { idempotencyKey: 'k' }).catch(() => undefined);
  const { position } = await until(again, 'the server to be back');
  t.is(position.offset, 2);
  await here.call('publish', 'room:1', 'third');
  await follower.has(3);
  t.deepEqual(follower.got, [
    [1, 'first'],
    [2, 'second'],
    [3, 'third'],
  ]);
  t.deepEqual([...follower.gaps, ...follower.violations], []);
});

withNats('a server that comes back without JetStream is told once, and one that has it again is used', async (t) => {
  const nats = await Nats.withStreams(t);
  const [here] = await mortalNodes(t, nats.url);
  await until(() => here.call('publish', 'room:1', 'first').catch(() => undefined), 'the link');
  const told = async () => (await here.errors()).filter(({ code }) => code === FAILED[0]);
  await nats.stop();
  await until(async () => (await told()).length === 1, 'the loss');
  await nats.launchAgain(['--debug']);
  await until(async () => (await told()).length === 2, 'the reason');
  const before = nats.connections;
  await until(() => nats.connections >= before + 3, 'attempts to connect');
  const [, reason, ...others] = await told();
  t.regex(reason.message, /need JetStream, which is not enabled on this server/);
  t.deepEqual(others, []);
  await t.throwsAsync(here.call('publish', 'room:1', 'x'), { code: FAILED[0] });
  await nats.stop();
  await nats.launchAgain();
  const again = () => here.call('publish', 'room:1', 'second').catch(() => undefined);
  t.is((await until(again, 'the link')).position.offset, 2);
  t.is((await told()).length, 2);
});
