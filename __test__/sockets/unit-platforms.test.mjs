// millrace/sockets on platforms that lack some or all calls: the native functions of this platform without those.
import { Worker } from 'node:worker_threads';
import test from 'ava';

import { posixTests } from '../support/platforms.mjs';

const file = (name) => JSON.stringify(new URL(`../../js/dist/${name}`, import.meta.url).pathname);

/** What `code` makes of `sockets`, and of `thrown`, on a platform whose native functions are what `native` says. */
async function on(t, platform, native, code) {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const binding = require(${file('addon/binding.js')}).binding();
     const own = binding.sockets;
     binding.sockets = ${native};
     Object.defineProperty(process, 'platform', { value: '${platform}' });
     const sockets = require(${file('sockets.js')});
     const thrown = (call) => {
       try { return call() } catch ({ name, message, code, syscall }) { return { name, message, code, syscall } }
     };
     parentPort.postMessage(${code});`,
    { eval: true },
  );
  t.teardown(() => worker.terminate());
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

test('on Windows the module loads, and its functions throw ENOSYS', async (t) => {
  const [failures, constant, path, last] = await on(
    t,
    'win32',
    'undefined',
    `[
      [thrown(() => sockets.socket(2, 1)), thrown(() => sockets.epoll_wait(1, 1)), thrown(() => sockets.close(1))],
      sockets.AF_INET,
      sockets.parse_http_request('GET /here HTTP/1.1\\n\\n').path,
      sockets.get_error(),
    ]`,
  );
  const reason = 'low-level sockets are not available on win32';
  t.deepEqual(
    failures,
    ['socket', 'epoll_wait', 'close'].map((syscall) => ({
      name: 'InternalError',
      message: `${syscall}() failed: ${reason}`,
      code: 'ENOSYS',
      syscall,
    })),
  );
  t.deepEqual([constant, path, last], [undefined, '/here', reason]);
});

const posix = posixTests(test);

posix('where there is no epoll, the rest is there', async (t) => {
  const [failure, descriptor] = await on(
    t,
    'freebsd',
    `() => {
      const { epollCreate, epollControl, epollWait, ...others } = own();
      return others;
    }`,
    '[thrown(() => sockets.epoll_create1()), sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)]',
  );
  const message = 'epoll_create1() failed: epoll is not available on freebsd';
  t.deepEqual(failure, { name: 'InternalError', message, code: 'ENOSYS', syscall: 'epoll_create1' });
  t.true(descriptor > 0);
});

posix('an addon that is older than the JavaScript is told by what it lacks', async (t) => {
  const error = await on(t, 'linux', 'undefined', '0').catch((failure) => failure);
  t.is(error.code, 'ERR_MILLRACE_BINDING_MISMATCH');
  t.regex(error.message, /it has no function sockets:/);
});
