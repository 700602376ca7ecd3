// Aborted messages: whether their channels are used again.
import test from 'ava';

import { within } from '../support/deadline.mjs';
import { Draft } from '../support/millrace-sockety.mjs';
import { answering, serve } from '../support/sockety-own.mjs';

const large = Draft.for('large').data();
const ping = Draft.for('ping');
const streaming = Draft.for('streaming').stream();

/** A server that accepts everything, and on demand gives up a message of its own; and a client that sends on one channel. */
async function onOneChannel(t, options) {
  const given = [];
  const { to } = await serve(
    t,
    answering(async (message) => {
      if (message.action === 'give up') {
        const request = message.connection.send(streaming());
        request.stream.destroy();
        given.push((await t.throwsAsync(request.sent())).code);
      }
      message.stream?.on('error', () => undefined);
      if (message.action !== 'streaming') message.accept();
    }),
  );
  const client = await to({ maxWritableChannels: 1, ...options }).ready();
  client.on('message', (message) => message.stream?.on('error', () => undefined));
  const giveUp = async () => {
    const request = client.send(streaming());
    request.stream.destroy();
    await t.throwsAsync(request.sent(), { code: 'ERR_SOCKETY_ABORTED' });
  };
  return { client, giveUp, given };
}

test('once every channel was given up, all that is sent fails at once', async (t) => {
  const { client, giveUp } = await onOneChannel(t);
  await giveUp();
  const refusal = { code: 'ERR_SOCKETY_NO_CHANNEL' };
  const whole = client.send(ping());
  await t.throwsAsync(within(whole.response(), 'a refusal', 5_000), refusal);
  t.false(whole.isSent());
  const parts = client.send(large({ data: Buffer.alloc(100_000) }));
  await t.throwsAsync(within(parts.sent(), 'a refusal', 5_000), refusal);
  await t.throwsAsync(within(parts.response(), 'a refusal', 5_000), refusal);
  await t.throwsAsync(within(client.pass(ping()), 'a refusal', 5_000), refusal);
});

test('a channel that was given up is used again where the other side is known to free it', async (t) => {
  const { client, giveUp } = await onOneChannel(t, { reuseAbortedChannels: true });
  for (let round = 0; round < 5; round++) {
    await giveUp();
    t.is(await within(client.send(ping()).response(), 'an answer', 5_000), 0);
  }
});

test('a channel that was given up is used again once the other side has given one up', async (t) => {
  const { client, giveUp, given } = await onOneChannel(t);
  const asked = new Promise((resolve) => client.once('message', resolve));
  t.is(await client.send(Draft.for('give up')()).response(), 0);
  const message = await asked;
  await t.throwsAsync(message.stream.toArray(), { code: 'ERR_SOCKETY_ABORTED' });
  t.deepEqual(given, ['ERR_SOCKETY_ABORTED']);
  for (let round = 0; round < 5; round++) {
    await giveUp();
    t.is(await within(client.send(ping()).response(), 'an answer', 5_000), 0);
  }
});
