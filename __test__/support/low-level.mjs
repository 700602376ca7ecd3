// Sockets of millrace/sockets for tests, closed with them; `sockets` may be the module of any thread or runtime.
import sockets from './millrace-sockets.mjs';

/** A socket, closed with the test if it is still open. */
export function opened(t, fd) {
  t.teardown(() => closed(fd));
  return fd;
}

/** Closes a descriptor that may already be closed. */
export function closed(fd) {
  try {
    sockets.close(fd);
  } catch (error) {
    if (error.code !== 'EBADF') throw error;
  }
}

/** A TCP socket. */
export function tcp(t, domain = sockets.AF_INET) {
  return opened(t, sockets.socket(domain, sockets.SOCK_STREAM, 0));
}

/** A TCP socket that listens on loopback: `{ fd, port }`. */
export function listening(t, { domain = sockets.AF_INET, address = '127.0.0.1', backlog = 16 } = {}) {
  const fd = tcp(t, domain);
  sockets.bind(fd, address, 0);
  sockets.listen(fd, backlog);
  return { fd, port: sockets.getsockname(fd).port };
}

/** The two ends of a connection over loopback. */
export function pair(t) {
  const listener = listening(t);
  const one = tcp(t);
  sockets.connect(one, '127.0.0.1', listener.port);
  const other = opened(t, sockets.accept(listener.fd).fd);
  return { one, other, listener: listener.fd };
}

/** The error of a failed call. */
export function failure(t, call, code, syscall) {
  const error = t.throws(call, { name: 'InternalError', code });
  t.is(error?.syscall, syscall);
  t.true(Number.isInteger(error?.errno) && error.errno > 0);
  return error;
}
