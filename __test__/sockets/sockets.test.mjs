// Low-level sockets against the runtime's own: TCP, UDP, IPv6, unix sockets; calls that would block, ends and errors.
import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { closed, failure, listening, opened, pair, tcp } from '../support/low-level.mjs';
import sockets, * as named from '../support/millrace-sockets.mjs';
import { only, posixTests } from '../support/platforms.mjs';
import { freePort } from '../support/ports.mjs';

const posix = posixTests(test);
const hasIpv6 = Object.values(os.networkInterfaces()).some((all) => all.some(({ address }) => address === '::1'));
const ipv6 = only(posix, hasIpv6, 'no IPv6 on loopback');
const linux = only(test, process.platform === 'linux', 'the numbers of Linux');
const BYTES = { bytes: true };

/** The next connection, on a non-blocking listener. */
const accepted = (fd) => until(() => sockets.accept(fd), 'a connection');

/** The next data of a non-blocking socket. */
const received = (fd, options) =>
  until(() => {
    const data = sockets.recv(fd, 65_536, 0, options);
    return data === null ? false : { data };
  }, 'data').then(({ data }) => data);

/** A node:net client and the non-blocking socket that accepted it. */
async function client(t) {
  const listener = listening(t);
  sockets.setnonblocking(listener.fd);
  const peer = net.connect(listener.port, '127.0.0.1');
  t.teardown(() => peer.destroy());
  const { fd, address, port } = await accepted(listener.fd);
  opened(t, fd);
  sockets.setnonblocking(fd);
  if (peer.connecting) await once(peer, 'connect');
  t.deepEqual({ address, port }, { address: '127.0.0.1', port: peer.localPort });
  return { peer, fd };
}

test('the module has a default export with all functions and constants', (t) => {
  const { default: _default, sockets: _sockets, InternalError: _class, ...others } = named;
  t.deepEqual({ ...sockets }, others);
});

linux('constants are those of the platform', (t) => {
  const expected = {
    ...{ AF_INET: 2, AF_INET6: 10, AF_UNIX: 1, SOCK_STREAM: 1, SOCK_DGRAM: 2, SOCK_RAW: 3, IPPROTO_TCP: 6 },
    ...{ IPPROTO_UDP: 17, SOL_SOCKET: 1, SO_REUSEADDR: 2, SO_REUSEPORT: 15, SO_KEEPALIVE: 9, SO_RCVBUF: 8 },
    ...{ SO_SNDBUF: 7, TCP_NODELAY: 1, SHUT_RD: 0, SHUT_WR: 1, SHUT_RDWR: 2, O_NONBLOCK: 2048, MSG_NOSIGNAL: 16_384 },
    ...{ EPOLLIN: 1, EPOLLOUT: 4, EPOLLERR: 8, EPOLLHUP: 16, EPOLLRDHUP: 8192, EPOLLET: -2_147_483_648 },
    ...{ EPOLLONESHOT: 1_073_741_824, EPOLL_CTL_ADD: 1, EPOLL_CTL_DEL: 2, EPOLL_CTL_MOD: 3 },
  };
  for (const [name, value] of Object.entries(expected)) t.is(sockets[name], value, name);
});

posix('every constant is a number, but for those that a platform lacks', (t) => {
  const names = Object.keys(sockets).filter((name) => /^[A-Z]/.test(name));
  t.true(names.length > 40);
  const lacking = names.filter((name) => !Number.isInteger(sockets[name]));
  t.deepEqual(
    lacking.filter((name) => process.platform === 'linux' || !/EPOLL|RDHUP|NOSIGNAL/.test(name)),
    [],
  );
});

posix('text and bytes go out and come in', async (t) => {
  const { peer, fd } = await client(t);
  const chunks = [];
  peer.on('data', (chunk) => chunks.push(chunk));
  const text = 'grüß dich, 世界';
  t.is(sockets.send(fd, text), Buffer.byteLength(text));
  const whole = new Uint8Array([9, 0, 255, 128, 9]);
  t.is(sockets.send(fd, whole.subarray(1, 4)), 3);
  t.is(sockets.send(fd, new DataView(whole.buffer, 4)), 1);
  t.is(sockets.send(fd, new Uint16Array([0x0101])), 2);
  t.is(sockets.send(fd, whole.buffer), 5);
  t.is(sockets.send(fd, ''), 0);
  const expected = Buffer.concat([Buffer.from(text), Buffer.from([0, 255, 128, 9, 1, 1, 9, 0, 255, 128, 9])]);
  await until(() => Buffer.concat(chunks).length >= expected.length, 'all bytes');
  t.deepEqual(Buffer.concat(chunks), expected);

  peer.write(text);
  t.is(await received(fd), text);
  peer.write(Buffer.from([0xff, 0xc3, 0x28, 0]));
  const bytes = await received(fd, BYTES);
  t.is(Object.getPrototypeOf(bytes), Uint8Array.prototype);
  t.deepEqual(bytes, new Uint8Array([0xff, 0xc3, 0x28, 0]));
  peer.write(Buffer.from([0x61, 0xff, 0x62]));
  t.is(await received(fd), 'a\uFFFDb');
});

posix('nothing at the moment is null, the end is empty', async (t) => {
  const { peer, fd } = await client(t);
  t.is(sockets.recv(fd, 10), null);
  t.is(sockets.recv(fd, 10, 0, BYTES), null);
  t.is(sockets.recvfrom(fd, 10), null);
  peer.end('last');
  t.is(await received(fd), 'last');
  t.is(await received(fd), '');
  t.deepEqual(sockets.recv(fd, 10, 0, BYTES), new Uint8Array(0));
  t.deepEqual(sockets.recvfrom(fd, 10), { data: '', address: '', port: 0 });
  // the other direction is still there
  t.is(sockets.send(fd, 'answer'), 6);
  t.is(sockets.shutdown(fd, sockets.SHUT_WR), 0);
  const answer = [];
  for await (const chunk of peer) answer.push(chunk);
  t.is(Buffer.concat(answer).toString(), 'answer');
});

posix('a buffer that is full takes a part, then nothing', async (t) => {
  const { peer, fd } = await client(t);
  peer.pause();
  const piece = 'x'.repeat(1_000_000);
  let total = 0;
  await until(() => {
    const sent = sockets.send(fd, piece);
    total += sent;
    return sent === 0 && !sockets.is_connected(fd);
  }, 'a full buffer: nothing is taken, and it is not writable');
  let count = 0;
  peer.on('data', (chunk) => {
    count += chunk.length;
  });
  peer.resume();
  await until(() => count === total, 'all bytes');
  await until(() => sockets.is_connected(fd), 'room');
});

posix('calls that wait get what comes', (t) => {
  const { one, other } = pair(t);
  t.is(sockets.send(one, 'ping'), 4);
  t.is(sockets.recv(other, 2), 'pi');
  t.is(sockets.recv(other, 100, sockets.MSG_PEEK), 'ng');
  t.is(sockets.recv(other, 100), 'ng');
  t.is(sockets.recv(other, 100, sockets.MSG_DONTWAIT), null);
});

posix('sizes above 65,536 are as if they were that', (t) => {
  const { one, other } = pair(t);
  sockets.setsockopt(other, sockets.SOL_SOCKET, sockets.SO_RCVBUF, 1_000_000);
  sockets.setsockopt(one, sockets.SOL_SOCKET, sockets.SO_SNDBUF, 1_000_000);
  sockets.send(one, 'x'.repeat(100_000));
  sockets.shutdown(one, sockets.SHUT_WR);
  let total = 0;
  for (;;) {
    const { length } = sockets.recv(other, 4_000_000);
    t.true(length <= 65_536);
    if (length === 0) break;
    total += length;
  }
  t.is(total, 100_000);
});

posix('datagrams come with their sender', async (t) => {
  const fd = opened(t, sockets.socket(sockets.AF_INET, sockets.SOCK_DGRAM));
  t.is(sockets.bind(fd, '127.0.0.1', 0), 0);
  sockets.setnonblocking(fd);
  const { port } = sockets.getsockname(fd);
  const peer = dgram.createSocket('udp4');
  t.teardown(() => peer.close());
  peer.bind(0, '127.0.0.1');
  await once(peer, 'listening');
  const from = { address: '127.0.0.1', port: peer.address().port };
  for (const data of ['hello', '']) {
    peer.send(data, port, '127.0.0.1');
    t.deepEqual(await until(() => sockets.recvfrom(fd, 100), 'a datagram'), { data, ...from });
  }
  peer.send(Buffer.from([1, 2, 255]), port, '127.0.0.1');
  const data = new Uint8Array([1, 2, 255]);
  t.deepEqual(await until(() => sockets.recvfrom(fd, 100, 0, BYTES), 'a datagram'), { data, ...from });
  const message = once(peer, 'message');
  t.is(sockets.sendto(fd, new Uint8Array([7, 8]), 0, '127.0.0.1', from.port), 2);
  const [received, sender] = await within(message, 'a datagram');
  t.deepEqual([...received], [7, 8]);
  t.is(sender.port, port);
  failure(t, () => sockets.sendto(fd, 'x'.repeat(70_000), 0, '127.0.0.1', from.port), 'EMSGSIZE', 'sendto');
  t.is(sockets.connect(fd, '127.0.0.1', from.port), 0);
  t.deepEqual(sockets.getpeername(fd), from);
});

ipv6('IPv6: TCP and datagrams', (t) => {
  const listener = listening(t, { domain: sockets.AF_INET6, address: '::1' });
  const one = tcp(t, sockets.AF_INET6);
  t.is(sockets.connect(one, '::1', listener.port), 0);
  const { fd, address } = sockets.accept(listener.fd);
  opened(t, fd);
  t.is(address, '::1');
  t.deepEqual(sockets.getsockname(fd), { address: '::1', port: listener.port });
  sockets.send(one, 'six');
  t.is(sockets.recv(fd, 10), 'six');
  const everywhere = tcp(t, sockets.AF_INET6);
  sockets.bind(everywhere, '', 0);
  t.is(sockets.getsockname(everywhere).address, '::');
  const datagrams = opened(t, sockets.socket(sockets.AF_INET6, sockets.SOCK_DGRAM));
  sockets.bind(datagrams, '::1', 0);
  const { port } = sockets.getsockname(datagrams);
  sockets.sendto(datagrams, 'self', 0, '::1', port);
  t.deepEqual(sockets.recvfrom(datagrams, 10), { data: 'self', address: '::1', port });
});

posix('unix sockets have paths for addresses', (t) => {
  const at = path.join(folderFor(t, {}), 'a socket');
  const listener = tcp(t, sockets.AF_UNIX);
  t.is(sockets.bind(listener, at), 0);
  sockets.listen(listener, 1);
  const one = tcp(t, sockets.AF_UNIX);
  t.is(sockets.connect(one, at, 0), 0);
  const { fd, ...from } = sockets.accept(listener);
  opened(t, fd);
  t.deepEqual(from, { address: '', port: 0 });
  t.deepEqual(sockets.getpeername(one), { address: at, port: 0 });
  sockets.send(fd, 'over the file');
  t.is(sockets.recv(one, 100), 'over the file');
  failure(t, () => sockets.connect(tcp(t, sockets.AF_UNIX), `${at}s`), 'ENOENT', 'connect');
});

posix('addresses are whole, and of the family of their socket', (t) => {
  const fd = tcp(t);
  for (const address of ['127.1', '0x7f.0.0.1', ' 127.0.0.1', '127.0.0.1\0', 'localhost', '::1', '127.0.0.01']) {
    for (const call of ['bind', 'connect']) {
      const error = failure(t, () => sockets[call](fd, address, 1), 'EINVAL', call);
      t.is(error.message, `Invalid address: ${address}`);
    }
  }
  for (const address of ['', '0.0.0.0']) {
    const other = tcp(t);
    sockets.bind(other, address, 0);
    t.is(sockets.getsockname(other).address, '0.0.0.0');
  }
  const six = tcp(t, sockets.AF_INET6);
  for (const address of ['127.0.0.1', '[::1]', '::1%', '::1 ']) {
    t.throws(() => sockets.bind(six, address, 0), { message: `Invalid address: ${address}` });
  }
  t.throws(() => sockets.bind(tcp(t, sockets.AF_UNIX), 'x'.repeat(200)), { message: /^Invalid address: x/ });
});

posix('a connection in progress is told by poll and SO_ERROR', async (t) => {
  const server = net.createServer((socket) => socket.end('hi')).listen(await freePort(), '127.0.0.1');
  await once(server, 'listening');
  const fd = tcp(t);
  sockets.setnonblocking(fd);
  t.false(sockets.is_connected(fd));
  const { port } = server.address();
  t.is(sockets.connect(fd, '127.0.0.1', port), 0);
  t.is(await received(fd), 'hi');
  t.is(sockets.getsockopt(fd, sockets.SOL_SOCKET, sockets.SO_ERROR), 0);
  sockets.close(fd);
  server.close();
  await once(server, 'close');
  const late = tcp(t);
  sockets.setnonblocking(late);
  // loopback may refuse at once
  const code = await until(() => {
    try {
      sockets.connect(late, '127.0.0.1', port);
    } catch (error) {
      return error.code;
    }
    const [{ revents }] = sockets.poll([{ fd: late, events: sockets.POLLOUT }], 0);
    return revents !== 0 && sockets.getsockopt(late, sockets.SOL_SOCKET, sockets.SO_ERROR);
  }, 'a refusal');
  t.true(code === 'ECONNREFUSED' || code === os.constants.errno.ECONNREFUSED, String(code));
  failure(t, () => sockets.connect(tcp(t), '127.0.0.1', port), 'ECONNREFUSED', 'connect');
});

posix('options', (t) => {
  const fd = tcp(t);
  const { SOL_SOCKET, SO_REUSEADDR, IPPROTO_TCP, TCP_NODELAY, SO_TYPE, SOCK_STREAM } = sockets;
  t.is(sockets.getsockopt(fd, IPPROTO_TCP, TCP_NODELAY), 0);
  t.is(sockets.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, 1), 0);
  t.not(sockets.getsockopt(fd, IPPROTO_TCP, TCP_NODELAY), 0);
  // values are made integers, as in the original
  t.is(sockets.setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, true), 0);
  t.not(sockets.getsockopt(fd, SOL_SOCKET, SO_REUSEADDR), 0);
  t.is(sockets.getsockopt(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
  failure(t, () => sockets.setsockopt(fd, SOL_SOCKET, 32_000, 1), 'ENOPROTOOPT', 'setsockopt');
  failure(t, () => sockets.getsockopt(fd, SOL_SOCKET, 32_000), 'ENOPROTOOPT', 'getsockopt');
});

posix('hosts have addresses', (t) => {
  t.is(sockets.gethostbyname('localhost'), '127.0.0.1');
  t.is(sockets.gethostbyname('127.0.0.9'), '127.0.0.9');
  const error = t.throws(() => sockets.gethostbyname('no host\0'), { name: 'InternalError' });
  t.regex(error.message, /^gethostbyname\(\) failed: /);
  t.is(error.code, 'ENOTFOUND');
});

posix('errors have a code, a number and the function', (t) => {
  const error = failure(t, () => sockets.listen(4, 1), 'EBADF', 'listen');
  t.is(error.message, 'listen() failed: Bad file descriptor');
  t.is(error.errno, os.constants.errno.EBADF);
  t.true(error instanceof Error && error instanceof named.InternalError);
  t.is(String(error), 'InternalError: listen() failed: Bad file descriptor');
  failure(t, () => sockets.socket(12_345, sockets.SOCK_STREAM), 'EAFNOSUPPORT', 'socket');
  failure(t, () => sockets.getpeername(tcp(t)), 'ENOTCONN', 'getpeername');
  const { fd, port } = listening(t);
  t.throws(() => sockets.bind(tcp(t), '127.0.0.1', port), { code: 'EADDRINUSE' });
  t.throws(() => sockets.shutdown(fd, 77), { code: 'EINVAL' });
});

posix('get_error is the last failure, whatever succeeded since', (t) => {
  t.throws(() => sockets.close(5), { code: 'EBADF' });
  closed(sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM));
  t.is(sockets.get_error(), 'Bad file descriptor');
  t.throws(() => sockets.bind(tcp(t), 'nowhere', 0));
  t.is(sockets.get_error(), 'Invalid argument');
  t.throws(() => sockets.close('5'), { instanceOf: TypeError });
  t.is(sockets.get_error(), 'Invalid argument');
});

posix('who sends to a peer that is gone gets an error and no signal', (t) => {
  const { one, other } = pair(t);
  sockets.close(other);
  let error;
  for (let index = 0; index < 100 && error === undefined; index++) {
    try {
      sockets.send(one, 'x', 0);
      sockets.poll([{ fd: one, events: sockets.POLLIN }], 1000);
    } catch (caught) {
      error = caught;
    }
  }
  t.true(['EPIPE', 'ECONNRESET'].includes(error?.code), String(error));
  t.false(sockets.is_connected(one));
});
