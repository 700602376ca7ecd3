// Descriptors of low-level sockets: no other descriptors can be reached, and none is leaked.
import { execFile } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { failure, listening, opened, pair, tcp } from '../support/low-level.mjs';
import sockets from '../support/millrace-sockets.mjs';
import { linuxTests, posixTests } from '../support/platforms.mjs';

const posix = posixTests(test);
const linux = linuxTests(test.serial);
const { AF_INET, AF_UNIX, SOCK_STREAM, SOL_SOCKET, SO_TYPE, SHUT_RDWR, POLLIN, EPOLL_CTL_ADD, EPOLLIN } = sockets;

/** Every function that takes a descriptor, by its name there. */
const CALLS = [
  ['bind', (fd) => sockets.bind(fd, '127.0.0.1', 0)],
  ['listen', (fd) => sockets.listen(fd, 1)],
  ['accept', (fd) => sockets.accept(fd)],
  ['connect', (fd) => sockets.connect(fd, '127.0.0.1', 1)],
  ['send', (fd) => sockets.send(fd, 'x')],
  ['sendto', (fd) => sockets.sendto(fd, 'x', 0, '127.0.0.1', 1)],
  ['recv', (fd) => sockets.recv(fd, 1)],
  ['recvfrom', (fd) => sockets.recvfrom(fd, 1)],
  ['close', (fd) => sockets.close(fd)],
  ['setsockopt', (fd) => sockets.setsockopt(fd, SOL_SOCKET, SO_TYPE, 1)],
  ['getsockopt', (fd) => sockets.getsockopt(fd, SOL_SOCKET, SO_TYPE)],
  ['shutdown', (fd) => sockets.shutdown(fd, SHUT_RDWR)],
  ['getsockname', (fd) => sockets.getsockname(fd)],
  ['getpeername', (fd) => sockets.getpeername(fd)],
  ['setnonblocking', (fd) => sockets.setnonblocking(fd)],
  ['is_connected', (fd) => sockets.is_connected(fd)],
  ['poll', (fd) => sockets.poll([{ fd, events: POLLIN }], 0), 'entries[0].fd'],
];
const EPOLL_CALLS = [
  ['epoll_ctl', (fd) => sockets.epoll_ctl(fd, EPOLL_CTL_ADD, fd, EPOLLIN), 'epfd'],
  ['epoll_wait', (fd) => sockets.epoll_wait(fd, 1, 0), 'epfd'],
];
const ALL = process.platform === 'linux' ? [...CALLS, ...EPOLL_CALLS] : CALLS;
const NO_INTEGERS = [
  ...[Number.NaN, 1.5, Number.POSITIVE_INFINITY, 2 ** 32, -(2 ** 31) - 1, 2 ** 53, '3', '', null, undefined, true],
  ...[{}, [], [3], 3n, Symbol('fd'), () => 3, { valueOf: () => 3 }],
];

posix('no descriptor of somebody else can be reached, nor a number that is not one', (t) => {
  const stale = tcp(t);
  sockets.close(stale);
  const open = tcp(t);
  const others = [0, 1, 2, 3, 19, stale, open + 1, open + 2 ** 20, -0, -1, -open, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
  for (const [name, call, argument = 'fd'] of ALL) {
    for (const fd of [...others, -(2 ** 31)]) {
      const error = failure(t, () => call(fd), 'EBADF', name);
      t.is(error?.message, `${name}() failed: Bad file descriptor`);
    }
    for (const fd of NO_INTEGERS) {
      t.throws(() => call(fd), {
        instanceOf: TypeError,
        message: new RegExp(`'${argument.replace('[0]', '\\[0\\]')}'`),
      });
    }
  }
  t.deepEqual(sockets.getsockname(open), { address: '0.0.0.0', port: 0 });
});

posix('numbers are below 2^31, and a closed one is not given out again', (t) => {
  const seen = new Set();
  for (let index = 0; index < 5000; index++) {
    const fd = sockets.socket(AF_UNIX, SOCK_STREAM);
    t.true(Number.isInteger(fd) && fd > 65_536 && fd < 2 ** 31 && !seen.has(fd));
    seen.add(fd);
    sockets.close(fd);
    t.throws(() => sockets.close(fd), { code: 'EBADF' });
  }
});

posix('arguments of the wrong type are named', (t) => {
  const fd = tcp(t);
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const wrong = [
    ...[1.5, 65_536, -1, Number.NaN, '80', null, undefined, 2 ** 32].flatMap((port) => [
      ['port', () => sockets.bind(fd, '127.0.0.1', port)],
      ['port', () => sockets.connect(fd, '127.0.0.1', port)],
      ['port', () => sockets.sendto(fd, 'x', 0, '127.0.0.1', port)],
    ]),
    ...[1, null, undefined, {}, new Uint8Array(4)].flatMap((address) => [
      ['address', () => sockets.bind(fd, address, 1)],
      ['address', () => sockets.connect(fd, address, 1)],
      ['name', () => sockets.gethostbyname(address)],
    ]),
    ...[1, null, undefined, {}, [1], true, Symbol('x'), 1n, new SharedArrayBuffer(4)].map((data) => [
      'data',
      () => sockets.send(fd, data),
    ]),
    ...[detached, detached.buffer, new DataView(new ArrayBuffer(1))].slice(0, 2).flatMap((data) => [
      ['data', () => sockets.send(fd, data)],
      ['data', () => sockets.sendto(fd, data, 0, '127.0.0.1', 1)],
    ]),
    ...[0, -1, 1.5, Number.NaN, '10', undefined, 2 ** 32].map((size) => ['bufsize', () => sockets.recv(fd, size)]),
    ...[null, 1, 'bytes', true].map((options) => ['options', () => sockets.recv(fd, 1, 0, options)]),
    ['options.bytes', () => sockets.recv(fd, 1, 0, { bytes: 1 })],
    ...[1n, Symbol('x')].flatMap((value) => [
      ['domain', () => sockets.socket(value, SOCK_STREAM)],
      ['type', () => sockets.socket(AF_INET, value)],
      ['flags', () => sockets.send(fd, 'x', value)],
      ['value', () => sockets.setsockopt(fd, 1, 2, value)],
    ]),
    ['protocol', () => sockets.socket(AF_INET, SOCK_STREAM, '6')],
    ['backlog', () => sockets.listen(fd, 1.5)],
    ['how', () => sockets.shutdown(fd, '2')],
    ['level', () => sockets.getsockopt(fd, 2 ** 31, 1)],
    ['name', () => sockets.getsockopt(fd, 1, Number.NaN)],
    ['entries', () => sockets.poll({ fd })],
    ['entries[0]', () => sockets.poll([fd])],
    ['entries[0].events', () => sockets.poll([{ fd, events: 'in' }])],
    ...[Number.NaN, 1.5, '1', null, 2 ** 31].map((timeout) => ['timeout', () => sockets.poll([], timeout)]),
  ];
  if (process.platform === 'linux') {
    const epoll = opened(t, sockets.epoll_create1());
    wrong.push(
      ...[Number.NaN, 0.5, '1', undefined, 2 ** 32].map((most) => ['maxevents', () => sockets.epoll_wait(epoll, most)]),
      ...[Number.NaN, 0.5, '1', 2 ** 32].map((timeout) => ['timeout', () => sockets.epoll_wait(epoll, 1, timeout)]),
      ...[Number.NaN, 0.5, '1', 2 ** 32, undefined].map((events) => [
        'events',
        () => sockets.epoll_ctl(epoll, EPOLL_CTL_ADD, fd, events),
      ]),
      ['op', () => sockets.epoll_ctl(epoll, '1', fd, 1)],
    );
  }
  for (const [argument, call] of wrong) {
    const error = t.throws(call, { instanceOf: TypeError }, argument);
    t.true(error?.message.includes(`'${argument}'`), `${argument}: ${error?.message}`);
  }
});

const descriptors = () => readdirSync('/proc/self/fd').length;

linux('10,000 descriptors that are opened and closed leave none, and no memory', (t) => {
  const round = (count) => {
    for (let index = 0; index < count; index++) {
      const listener = sockets.socket(AF_INET, SOCK_STREAM);
      sockets.bind(listener, '127.0.0.1', 0);
      sockets.listen(listener, 1);
      const one = sockets.socket(AF_INET, SOCK_STREAM);
      // no connection waits to be forgotten, which would use up ports
      sockets.connect(one, '127.0.0.1', sockets.getsockname(listener).port);
      const { fd } = sockets.accept(listener);
      sockets.send(one, 'ping');
      sockets.recv(fd, 100, 0, { bytes: true });
      const epoll = sockets.epoll_create1();
      sockets.epoll_ctl(epoll, EPOLL_CTL_ADD, fd, EPOLLIN);
      sockets.epoll_wait(epoll, 4, 0);
      for (const each of [epoll, one, fd, listener]) sockets.close(each);
    }
  };
  round(500);
  globalThis.gc?.();
  const before = { descriptors: descriptors(), rss: process.memoryUsage().rss };
  round(2500);
  t.is(descriptors(), before.descriptors);
  const grown = process.memoryUsage().rss - before.rss;
  t.true(grown < 24 * 2 ** 20, `${Math.round(grown / 1024)} KiB`);
});

linux('programs that are started inherit none', async (t) => {
  const { one, other, listener } = pair(t);
  const epoll = opened(t, sockets.epoll_create1(0));
  t.is([one, other, listener, epoll].length, 4);
  const script =
    'for (const fd of fs.readdirSync("/proc/self/fd")) try { console.log(fs.readlinkSync("/proc/self/fd/" + fd)) } catch {}';
  const inodes = () =>
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        return [];
      }
    });
  const before = inodes();
  const own = listening(t);
  const added = inodes().filter((name) => !before.includes(name));
  t.true(added.some((name) => name.startsWith('socket:')));
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', `const fs = require('node:fs'); ${script}`]);
  t.true(stdout.includes('/'));
  for (const name of added) t.false(stdout.includes(name), `${name} of ${own.fd}`);
});

const inWorker = (t, code) => {
  const entry = JSON.stringify(new URL('../../js/dist/sockets.js', import.meta.url).pathname);
  const worker = new Worker(`const sockets = require(${entry}); ${code}`, { eval: true });
  t.teardown(() => worker.terminate());
  return worker;
};

linux('what a worker opened is closed with it, however it ends', async (t) => {
  const open = `const { parentPort } = require('node:worker_threads');
    const fds = Array.from({ length: 50 }, () => sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM));
    fds.push(sockets.epoll_create1());
    parentPort.postMessage(fds);`;
  const first = inWorker(t, open);
  const [one] = await Promise.all([
    new Promise((resolve) => first.once('message', resolve)),
    new Promise((resolve) => first.once('exit', resolve)),
  ]);
  t.throws(() => sockets.close(one[0]), { code: 'EBADF' });
  const before = descriptors();
  const second = inWorker(t, `${open} setInterval(() => {}, 1000);`);
  const fds = await new Promise((resolve) => second.once('message', resolve));
  t.true(descriptors() >= before + 51);
  // numbers are the process's
  t.deepEqual(sockets.getsockname(fds[0]), { address: '0.0.0.0', port: 0 });
  await second.terminate();
  t.throws(() => sockets.getsockname(fds[0]), { code: 'EBADF' });
  await until(() => descriptors() <= before, 'the descriptors of the worker closed');
});

posix('get_error is of its thread', async (t) => {
  t.throws(() => sockets.close(1), { code: 'EBADF' });
  const worker = inWorker(
    t,
    `const { parentPort } = require('node:worker_threads');
    const before = sockets.get_error();
    try { sockets.socket(12345, 1) } catch {}
    parentPort.postMessage([before, sockets.get_error()]);`,
  );
  const [before, after] = await new Promise((resolve) => worker.once('message', resolve));
  t.not(before, 'Bad file descriptor');
  t.regex(after, /^Address family not supported/);
  t.is(sockets.get_error(), 'Bad file descriptor');
});
