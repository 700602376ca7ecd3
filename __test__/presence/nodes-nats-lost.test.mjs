// Presence on several nodes: nodes that die, are suspended or stopped, and a NATS that loses everything, is away, or has no
// JetStream.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { earlyNodes } from '../support/presence.mjs';
import { declareLosses } from '../support/presence-losses.mjs';
import { speak } from '../support/v1.mjs';

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

const ACCOUNTS = `accounts {
  chat: { users: [ { user: node, password: node } ] }
  other: { jetstream: enabled, users: [ { user: other, password: other } ] }
}`;

/** A server with JetStream, but not for the account of its nodes. */
async function withoutAccount(t) {
  const config = path.join(folderFor(t, {}), 'nats.conf');
  await writeFile(config, ACCOUNTS);
  return Nats.withStreams(t, ['--config', config, '--debug']);
}

for (const [what, start, login] of [
  ['a server', (t) => Nats.with(t, ['--debug']), {}],
  ['an account', withoutAccount, { user: 'node', password: 'node' }],
]) {
  withNats(`${what} without JetStream is told once, and not with each attempt`, async (t) => {
    const nats = await start(t);
    const [here] = await earlyNodes(t, nats.url, 1, { backplane: { url: nats.url, ...login } });
    const needed = { ERR_MILLRACE_PRESENCE_UNAVAILABLE: 'presence', ERR_MILLRACE_HISTORY_UNAVAILABLE: 'history' };
    const told = async (code) => (await here.errors()).filter((error) => error.code === code);
    for (const code of Object.keys(needed)) await until(async () => (await told(code)).length > 0, code);
    await until(() => nats.connections >= 12, 'attempts to connect');
    for (const [code, purpose] of Object.entries(needed)) {
      const [{ message }, ...more] = await told(code);
      t.deepEqual(more, []);
      t.regex(message, new RegExp(`channels with ${purpose} need JetStream, which is not enabled on this server`));
      t.regex(message, /start nats-server with --jetstream, and enable it for the account$/);
    }
    for (const ask of ['presence', 'presenceCount']) {
      await t.throwsAsync(here.call(ask, 'room:1'), { code: 'ERR_MILLRACE_PRESENCE_UNAVAILABLE' });
    }
    await t.throwsAsync(here.call('publish', 'old:1', 'x'), { code: 'ERR_MILLRACE_HISTORY_UNAVAILABLE' });
    const client = await speak(t, here);
    t.like(await client.ask({ t: 'pres', c: 'room:1' }), { t: 'err', code: 'failed' });
  });
}
