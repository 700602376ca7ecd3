// poll and epoll of low-level sockets.
import net from 'node:net';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { failure, listening, opened, pair, tcp } from '../support/low-level.mjs';
import sockets from '../support/millrace-sockets.mjs';
import { only, posixTests } from '../support/platforms.mjs';

const posix = posixTests(test);
const linux = only(test, process.platform === 'linux', 'epoll is of Linux');
const { EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLET, EPOLLONESHOT, EPOLLHUP } = sockets;
const { EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL, POLLIN, POLLOUT, POLLHUP } = sockets;

function epoll(t) {
  return opened(t, sockets.epoll_create1());
}

linux('epoll tells who has something, until it is taken', (t) => {
  const { one, other } = pair(t);
  const fd = epoll(t);
  t.is(sockets.epoll_ctl(fd, EPOLL_CTL_ADD, other, EPOLLIN), 0);
  t.deepEqual(sockets.epoll_wait(fd, 10, 0), []);
  sockets.send(one, 'x');
  for (let index = 0; index < 2; index++) {
    t.deepEqual(sockets.epoll_wait(fd, 10, 5000), [{ fd: other, events: EPOLLIN }]);
  }
  sockets.recv(other, 10);
  t.deepEqual(sockets.epoll_wait(fd, 10, 0), []);
  sockets.epoll_ctl(fd, EPOLL_CTL_MOD, other, EPOLLIN | EPOLLOUT);
  t.deepEqual(sockets.epoll_wait(fd, 10), [{ fd: other, events: EPOLLOUT }]);
  t.is(sockets.epoll_ctl(fd, EPOLL_CTL_DEL, other), 0);
  t.deepEqual(sockets.epoll_wait(fd, 10, 0), []);
});

linux('a peer that sends no more is told as 8193', (t) => {
  const { one, other } = pair(t);
  const fd = epoll(t);
  sockets.epoll_ctl(fd, EPOLL_CTL_ADD, other, EPOLLIN | EPOLLRDHUP);
  sockets.shutdown(one, sockets.SHUT_WR);
  t.deepEqual(sockets.epoll_wait(fd, 10, 5000), [{ fd: other, events: 8193 }]);
  sockets.shutdown(other, sockets.SHUT_WR);
  const [{ events }] = sockets.epoll_wait(fd, 10, 5000);
  t.is(events & EPOLLHUP, EPOLLHUP);
});

linux('EPOLLET tells what is new, given with a sign or without', (t) => {
  for (const mask of [EPOLLIN | EPOLLET, (EPOLLIN | EPOLLET) >>> 0]) {
    const { one, other } = pair(t);
    const fd = epoll(t);
    sockets.epoll_ctl(fd, EPOLL_CTL_ADD, other, mask);
    sockets.send(one, 'x');
    t.deepEqual(sockets.epoll_wait(fd, 10, 5000), [{ fd: other, events: EPOLLIN }]);
    t.deepEqual(sockets.epoll_wait(fd, 10, 0), []);
    sockets.send(one, 'y');
    t.deepEqual(sockets.epoll_wait(fd, 10, 5000), [{ fd: other, events: EPOLLIN }]);
    t.is(sockets.recv(other, 10), 'xy');
  }
});

linux('EPOLLONESHOT tells once', (t) => {
  const { one, other } = pair(t);
  const fd = epoll(t);
  sockets.epoll_ctl(fd, EPOLL_CTL_ADD, other, EPOLLIN | EPOLLONESHOT);
  sockets.send(one, 'x');
  t.is(sockets.epoll_wait(fd, 10, 5000).length, 1);
  sockets.send(one, 'y');
  t.deepEqual(sockets.epoll_wait(fd, 10, 0), []);
  sockets.epoll_ctl(fd, EPOLL_CTL_MOD, other, EPOLLIN | EPOLLONESHOT);
  t.is(sockets.epoll_wait(fd, 10, 5000).length, 1);
});

linux('errors of epoll', (t) => {
  const fd = epoll(t);
  const one = tcp(t);
  sockets.epoll_ctl(fd, EPOLL_CTL_ADD, one, EPOLLIN);
  const twice = failure(t, () => sockets.epoll_ctl(fd, EPOLL_CTL_ADD, one, EPOLLIN), 'EEXIST', 'epoll_ctl');
  t.is(twice.message, 'epoll_ctl() failed: File exists');
  failure(t, () => sockets.epoll_ctl(fd, EPOLL_CTL_MOD, tcp(t), EPOLLIN), 'ENOENT', 'epoll_ctl');
  failure(t, () => sockets.epoll_ctl(fd, 99, one, EPOLLIN), 'EINVAL', 'epoll_ctl');
  failure(t, () => sockets.epoll_ctl(fd, EPOLL_CTL_ADD, fd, EPOLLIN), 'EINVAL', 'epoll_ctl');
  failure(t, () => sockets.epoll_wait(fd, 0, 0), 'EINVAL', 'epoll_wait');
  failure(t, () => sockets.epoll_wait(fd, -1, 0), 'EINVAL', 'epoll_wait');
  failure(t, () => sockets.epoll_wait(one, 1, 0), 'EINVAL', 'epoll_wait');
  failure(t, () => sockets.epoll_create1(12_345), 'EINVAL', 'epoll_create1');
  failure(t, () => sockets.listen(fd, 1), 'ENOTSOCK', 'listen');
  failure(t, () => sockets.send(fd, 'x'), 'ENOTSOCK', 'send');
});

linux('no more events come than are asked for, and a closed descriptor is told of no more', (t) => {
  const fd = epoll(t);
  const pairs = Array.from({ length: 5 }, () => pair(t));
  for (const { one, other } of pairs) {
    sockets.epoll_ctl(fd, EPOLL_CTL_ADD, other, EPOLLIN);
    sockets.send(one, 'x');
  }
  t.is(sockets.epoll_wait(fd, 3, 1000).length, 3);
  t.is(sockets.epoll_wait(fd, 2_000_000, 1000).length, 5);
  sockets.close(pairs[0].other);
  const left = sockets.epoll_wait(fd, 10, 1000).map((event) => event.fd);
  t.deepEqual(
    left.sort(),
    pairs
      .slice(1)
      .map(({ other }) => other)
      .sort(),
  );
});

posix('timeouts are waited for, and no longer', (t) => {
  const { other } = pair(t);
  const wait = (call, ms) => {
    const start = performance.now();
    const answer = call();
    const took = performance.now() - start;
    t.true(took >= ms - 1 && took < ms + 5000, `${took} ms, not ${ms}`);
    return answer;
  };
  for (const ms of [0, 1, 30, 50, 120]) {
    t.deepEqual(
      wait(() => sockets.poll([{ fd: other, events: POLLIN }], ms), ms),
      [{ fd: other, events: POLLIN, revents: 0 }],
    );
  }
  if (process.platform !== 'linux') return;
  const fd = epoll(t);
  sockets.epoll_ctl(fd, EPOLL_CTL_ADD, other, EPOLLIN);
  for (const ms of [0, 1, 120])
    t.deepEqual(
      wait(() => sockets.epoll_wait(fd, 5, ms), ms),
      [],
    );
});

posix('poll tells of each entry what happened, in their order', (t) => {
  const { one, other, listener } = pair(t);
  sockets.send(one, 'x');
  const entries = [
    { fd: listener, events: POLLIN },
    { fd: other, events: POLLIN },
    { fd: one, events: POLLIN | POLLOUT },
    { fd: other, events: 0 },
  ];
  const found = [0, POLLIN, POLLOUT, 0];
  sockets.poll([{ fd: other, events: POLLIN }], 5000);
  t.deepEqual(
    sockets.poll(entries),
    entries.map((entry, index) => ({ ...entry, revents: found[index] })),
  );
  t.deepEqual(sockets.poll([], 0), []);
  sockets.shutdown(one, sockets.SHUT_WR);
  sockets.shutdown(other, sockets.SHUT_WR);
  const [{ revents }] = sockets.poll([{ fd: other, events: 0 }], 5000);
  t.is(revents & POLLHUP, POLLHUP);
});

linux('a server with epoll answers clients of the runtime', async (t) => {
  const { fd: listener, port } = listening(t, { backlog: 64 });
  sockets.setnonblocking(listener);
  const fd = epoll(t);
  sockets.epoll_ctl(fd, EPOLL_CTL_ADD, listener, EPOLLIN);
  const clients = Array.from({ length: 50 }, (_, index) => {
    const socket = net.connect(port, '127.0.0.1').setEncoding('utf8');
    let answer = '';
    socket.on('data', (text) => {
      answer += text;
    });
    socket.end(`client ${index}`);
    return new Promise((resolve) => socket.on('close', () => resolve(answer === `client ${index}`)));
  });
  const open = new Set();
  let served = 0;
  await until(() => {
    for (const event of sockets.epoll_wait(fd, 64, 0)) {
      if (event.fd === listener) {
        for (let peer = sockets.accept(listener); peer !== null; peer = sockets.accept(listener)) {
          open.add(opened(t, peer.fd));
          sockets.setnonblocking(peer.fd);
          sockets.epoll_ctl(fd, EPOLL_CTL_ADD, peer.fd, EPOLLIN);
        }
        continue;
      }
      const data = sockets.recv(event.fd, 4096);
      if (data) sockets.send(event.fd, data);
      if (data !== '') continue;
      sockets.close(event.fd);
      open.delete(event.fd);
      served++;
    }
    return served === clients.length;
  }, 'all clients served');
  t.is(open.size, 0);
  t.true((await Promise.all(clients)).every(Boolean));
});
