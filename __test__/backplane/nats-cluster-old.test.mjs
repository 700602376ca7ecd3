// Nodes that share a cluster of three NATS servers which keep two messages under one number in a stream with copies.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { needingNats } from '../support/nats.mjs';
import { isBack, NatsCluster, nodeAt, OLD } from '../support/nats-cluster.mjs';

const cluster = NatsCluster.of(test, OLD);
const withNats = needingNats(test.serial, OLD);

withNats('copies of histories are refused if servers are too old to keep one message under each number', async (t) => {
  await cluster.isWhole();
  const [first, second] = cluster.servers;
  const node = await nodeAt(t, first, 'old');
  const { history } = await cluster.streamsOf('old');
  await until(() => node.call('publish', 'kept:1', '1').catch(() => undefined), 'the stream');
  await cluster.edit(history, { num_replicas: 3 });
  const refusals = async (of) => (await of.errors()).filter(({ message }) => /NATS 2\.9\.21 is needed/.test(message));
  await until(async () => (await refusals(node)).length > 0, 'the refusal');
  await t.throwsAsync(node.call('publish', 'kept:1', 'x'), { code: 'ERR_MILLRACE_HISTORY_UNAVAILABLE' });
  const late = await nodeAt(t, second, 'old');
  await until(async () => (await refusals(late)).length > 0, 'the refusal of another node');
  await cluster.edit(history, { num_replicas: 1 });
  for (const one of [node, late]) await isBack(one);
  const { position } = await until(() => late.call('publish', 'kept:1', '2').catch(() => undefined), 'the stream');
  t.is(position.offset, 2);
  for (const one of [node, late]) t.is((await refusals(one)).length, 1);
});
