// Presence on several nodes: nodes that die, are suspended or stopped, and a NATS that loses everything, is away, or has no
// JetStream.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { presentNodes } from '../support/presence.mjs';
import { declareLosses } from '../support/presence-losses.mjs';

const withNats = needingNats(test.serial);

const streams = async (nats) => {
  const { streams } = await nats.ask('$JS.API.STREAM.NAMES');
  return streams.filter((name) => /^millrace-(members|sessions)-/.test(name));
};

/** How many nodes have members in `room:1`. */
const sessions = async (nats) => {
  const [name] = (await streams(nats)).filter((name) => name.startsWith('millrace-members-'));
  const { state } = await nats.ask(`$JS.API.STREAM.INFO.${name}`, { subjects_filter: 'millrace!m.room:1.*' });
  return Object.keys(state.subjects ?? {}).length;
};

declareLosses(withNats, {
  start: (t) => Nats.withStreams(t),
  hasSessions: async (nats, count) => (await sessions(nats)) === count,
  lose: async (nats) => {
    for (const name of await streams(nats)) await nats.ask(`$JS.API.STREAM.PURGE.${name}`);
  },
});

withNats('a server without JetStream is told', async (t) => {
  const nats = await Nats.with(t);
  const [here] = await presentNodes(t, nats.url, 1);
  const code = 'ERR_MILLRACE_PRESENCE_UNAVAILABLE';
  const told = async () => (await here.errors()).find((error) => error.code === code);
  t.regex((await until(told, 'the report')).message, /need JetStream, which is not enabled on this server/);
  await t.throwsAsync(here.call('presence', 'room:1'), { code });
});
