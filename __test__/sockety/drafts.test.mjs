// Drafts whose data is always the same: native code keeps it, and every message has it whole.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Draft, ResponseDraft } from '../support/millrace-sockety.mjs';
import { answering, serve } from '../support/sockety-own.mjs';

const LENGTHS = [1, 16_384, 65_536, 65_537, 1_000_000, 1_048_576, 1_048_577, 3_000_000];

const noise = (length) => Buffer.from({ length }, 0).map((_, at) => (at * 31 + (at >>> 8)) & 0xff);

/** Collects the data of each message. */
async function collecting(t) {
  const received = [];
  const served = await serve(
    t,
    answering(async (message) => {
      received.push(await message.dataBuffer());
      message.accept();
    }),
  );
  return { ...served, received };
}

for (const length of LENGTHS) {
  test(`${length} bytes that a draft always has arrive with each of its messages`, async (t) => {
    const data = noise(length);
    const { to, received } = await collecting(t);
    const clients = await Promise.all([to().ready(), to().ready()]);
    const draft = Draft.for('same').data(data).optimize();
    const sent = [];
    for (let round = 0; round < 5; round++) {
      for (const client of clients) sent.push(client.send(draft()).response(), client.pass(draft()));
    }
    await Promise.all(sent);
    await until(() => received.length === 20, 'all of them');
    t.true(received.every((one) => one.equals(data)));
  });
}

test('responses have it as well', async (t) => {
  const data = noise(500_000);
  const same = new ResponseDraft().data(data).optimize();
  const { to } = await serve(
    t,
    answering((message) => message.respond(same())),
  );
  const client = await to().ready();
  for (let round = 0; round < 3; round++) {
    const response = await client.send(Draft.for('please')()).response();
    t.true(data.equals(await response.dataBuffer()));
  }
});

test('a draft outlives the servers and connections that it was sent on', async (t) => {
  const data = noise(300_000);
  const draft = Draft.for('same').data(data).optimize();
  for (let round = 0; round < 2; round++) {
    const { to, received, server } = await collecting(t);
    const client = await to().ready();
    await client.send(draft()).response();
    t.true(data.equals(received[0]));
    await client.close();
    await server.close();
  }
});

/** What a draft's data is kept by, where it is sent the first time. */
async function keeperOf(client) {
  const producer = Draft.for('first').data(noise(100_000))();
  let keeper;
  producer.fixed.isKept = (worker) => {
    keeper = worker;
    return false;
  };
  await client.send(producer).response();
  return keeper;
}

test.serial('data is kept from the second message on', async (t) => {
  const { to, received } = await collecting(t);
  const client = await to().ready();
  const keeper = await keeperOf(client);
  const { keepBytes } = keeper;
  const kept = [];
  keeper.keepBytes = (bytes) => {
    kept.push(bytes.length);
    return keepBytes.call(keeper, bytes);
  };
  t.teardown(() => {
    keeper.keepBytes = keepBytes;
  });
  const draft = Draft.for('often').data(noise(200_000)).optimize();
  for (let round = 0; round < 4; round++) {
    await client.send(draft()).response();
    // this one is sent once
    await client.send(Draft.for('once').data(noise(300_000))()).response();
    t.deepEqual(kept, round === 0 ? [] : [200_000]);
  }
  t.is(received.length, 9);
});

test.serial('beyond 64 MiB nothing more is kept, and messages go in parts', async (t) => {
  const { to, received } = await collecting(t);
  const client = await to().ready();
  const keeper = await keeperOf(client);
  const data = noise(1_048_576);
  const numbers = [];
  for (let number = keeper.keepBytes(data); number !== undefined; number = keeper.keepBytes(data)) numbers.push(number);
  t.true(numbers.length > 32 && numbers.length <= 64, `${numbers.length} MiB`);
  const draft = Draft.for('beyond').data(data).optimize();
  for (let round = 0; round < 3; round++) await client.send(draft()).response();
  t.true(received.slice(1).every((one) => one.equals(data)));
  for (const number of numbers) keeper.forgetBytes(number);
  const free = keeper.keepBytes(data);
  t.not(free, undefined);
  keeper.forgetBytes(free);
});
