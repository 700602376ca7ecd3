// A worker thread, but not one of Millrace: opens sockets, posts their descriptors, and waits.
import { parentPort, workerData } from 'node:worker_threads';

import sockets from '../millrace-sockets.mjs';

const { AF_INET, AF_UNIX, SOCK_STREAM, SOCK_DGRAM } = sockets;

function listening() {
  const fd = sockets.socket(AF_INET, SOCK_STREAM);
  sockets.bind(fd, '127.0.0.1', 0);
  sockets.listen(fd, 1);
  return fd;
}

function pair() {
  const listener = listening();
  const one = sockets.socket(AF_INET, SOCK_STREAM);
  sockets.connect(one, '127.0.0.1', sockets.getsockname(listener).port);
  const other = sockets.accept(listener).fd;
  return { one, other, all: [listener, one, other] };
}

/** Posts the opened descriptors, and calls the function that waits. */
function wait(opened, call) {
  parentPort.postMessage(opened);
  try {
    parentPort.postMessage(call());
  } catch (error) {
    parentPort.postMessage({ code: error.code, message: error.message });
  }
}

const works = {
  accept() {
    const fd = workerData.fd ?? listening();
    wait([fd], () => sockets.accept(fd));
  },
  recv() {
    const fd = sockets.socket(AF_INET, SOCK_DGRAM);
    sockets.bind(fd, '127.0.0.1', 0);
    wait([fd], () => sockets.recv(fd, 10));
  },
  poll() {
    const fd = listening();
    wait([fd], () => sockets.poll([{ fd, events: sockets.POLLIN }]));
  },
  epoll_wait() {
    const fd = sockets.epoll_create1();
    wait([fd], () => sockets.epoll_wait(fd, 10));
  },
  send() {
    const { one, all } = pair();
    wait(all, () => sockets.send(one, 'x'.repeat(50_000_000)));
  },
  /** Connects to a unix socket whose queue is full, because connections over TCP on loopback never wait. */
  connect() {
    const at = `${process.env.TMPDIR ?? '/tmp'}/millrace-${process.pid}-${Date.now()}`;
    const listener = sockets.socket(AF_UNIX, SOCK_STREAM);
    sockets.bind(listener, at);
    sockets.listen(listener, 0);
    const opened = [listener];
    const next = () => {
      opened.push(sockets.socket(AF_UNIX, SOCK_STREAM));
      return opened.at(-1);
    };
    for (;;) {
      const fd = next();
      sockets.setnonblocking(fd);
      try {
        sockets.connect(fd, at);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
        break;
      }
    }
    const last = next();
    wait(opened, () => sockets.connect(last, at));
  },
  open() {
    const { all } = pair();
    parentPort.postMessage([...all, sockets.epoll_create1()]);
  },
};

works[workerData.work]();
