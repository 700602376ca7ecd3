// The start option `ioUring`: writes to many connections go out together or one by one, and arrive in both cases.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

import test from 'ava';

import { linuxTests } from '../support/platforms.mjs';
import { ask, member, ownServer, worker } from '../support/server.mjs';

const SUBSCRIBERS = 12;

/** Rings of a process, or -1 where that cannot be seen. */
function rings(pid) {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).map((name) => {
    try {
      return readlinkSync(`${folder}/${name}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
  return targets.filter((target) => target.includes('[io_uring]')).length;
}

/** The kernel has io_uring for everybody, and no filter of system calls forbids it. */
function isCertain() {
  const disabled = '/proc/sys/kernel/io_uring_disabled';
  if (!existsSync(disabled) || readFileSync(disabled, 'utf8').trim() !== '0') return false;
  return /^Seccomp:\s*0$/m.test(readFileSync('/proc/self/status', 'utf8'));
}

async function broadcast(t, options) {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1, ioThreads: 1, ...options });
  const sockets = [];
  for (let index = 0; index < SUBSCRIBERS; index++) sockets.push(await member(t, server));
  const before = rings(server.pid);
  for (const ws of sockets) await ask(ws, { cmd: 'sub', channel: 'all' });
  for (let round = 0; round < 20; round++) {
    await server.call('send', 'all', `message ${round}`);
    for (const ws of sockets) t.is(await ws.text(), `message ${round}`);
  }
  return { before, after: rings(server.pid) };
}

const onLinux = linuxTests(test);

onLinux('with ioUring: false no ring is made, and every subscriber gets every message', async (t) => {
  t.deepEqual(await broadcast(t, { ioUring: false }), { before: 0, after: 0 });
});

onLinux('by default there is at most one ring per I/O thread, and every subscriber gets every message', async (t) => {
  const { before, after } = await broadcast(t, {});
  t.is(before, 0, 'made when it is needed first');
  if (isCertain()) t.is(after, 1);
  else t.true(after <= 1, `${after} rings`);
  t.log(after === 1 ? 'io_uring is used here' : 'io_uring is refused here');
});
