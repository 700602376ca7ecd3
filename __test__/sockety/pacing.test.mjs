// Messages sent faster than the other side takes them: they wait in order, with the data that they had.
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { Draft } from '../support/millrace-sockety.mjs';
import { answering, serve } from '../support/sockety-own.mjs';

const large = Draft.for('large').data().optimize();
const ping = Draft.for('ping').optimize();

/** Discards contents, which would otherwise block the connection. */
function takes(message) {
  message.discard();
  message.accept();
}

test('waiting messages are sent, even if a notification about fewer was in flight', async (t) => {
  const { to } = await serve(t, answering(takes));
  const client = await to().ready();
  for (let ticks = 0; ticks < 8; ticks++) {
    const passed = client.pass(ping());
    for (let tick = 0; tick < ticks; tick++) await null;
    const data = Buffer.alloc(60_000);
    const answers = Array.from({ length: 60 }, () => client.send(large({ data })).response());
    await within(Promise.all([passed, ...answers]), `answers after ${ticks} ticks`);
  }
  t.pass();
});

test('fast replies do not block messages that wait behind them', async (t) => {
  let message;
  const { to } = await serve(
    t,
    answering((came) => {
      message ??= came;
    }),
  );
  const client = await to().ready();
  client.pass(ping());
  await until(() => message !== undefined, 'a message');
  const back = message.connection;
  client.on('message', takes);
  const passed = back.pass(ping());
  await null;
  for (let reply = 0; reply < 150_000; reply++) message.accept();
  const data = Buffer.alloc(60_000);
  const answers = Array.from({ length: 60 }, () => back.send(large({ data })).response());
  await within(Promise.all([passed, ...answers]), 'answers');
  t.pass();
});

test('a buffer may be used again once its message was sent', async (t) => {
  const received = [];
  const { to } = await serve(
    t,
    answering(async (message) => {
      received.push(await message.dataBuffer());
    }),
  );
  const client = await to().ready();
  const data = Buffer.alloc(60_000);
  for (let number = 0; number < 100; number++) {
    data.fill(number);
    client.pass(large({ data }));
  }
  await until(() => received.length === 100, 'all of them');
  t.deepEqual(
    received.map((bytes) => bytes[0]).sort((one, other) => one - other),
    Array.from({ length: 100 }, (_, number) => number),
  );
});

test('a refused message stays refused', async (t) => {
  const { to } = await serve(t, answering(takes));
  const client = await to().ready();
  const data = Buffer.alloc(64_000);
  const requests = Array.from({ length: 2000 }, () => client.send(large({ data })));
  const outcomes = await Promise.allSettled(requests.map((request) => request.sent()));
  const refused = requests.filter((_, index) => outcomes[index].status === 'rejected');
  t.true(refused.length > 100);
  await client.send(ping()).response();
  const request = refused[0];
  t.false(request.isSent());
  await t.throwsAsync(request.sent(), { code: 'ERR_SOCKETY_NOT_SENT' });
  await t.throwsAsync(request.response(), { code: 'ERR_SOCKETY_NOT_SENT' });
});
