// The limits of `start`, without starting anything: which of them a listener gets, and how a limit of another protocol
// is reported.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { parseStartOptions } = require('../../js/dist/options/start-options.js');

const MODULE = { workerPath: '/app/worker.js' };

function messageOf(options) {
  try {
    parseStartOptions(options, true);
  } catch (error) {
    return error instanceof TypeError ? error.message : `not a TypeError: ${error}`;
  }
  return 'accepted';
}

test('a listener gets the limits of its own protocol', (t) => {
  const limits = { messageBytes: 9, bodyBytes: 8, staticCheckMs: 0, answerTimeoutMs: 7, keysBytes: 6 };
  const http = { address: ':1', limits: { keepAliveRequests: 1 } };
  const resp = { address: 'unix:/tmp/s', protocol: 'resp', limits: { keysBytes: 5, subscriptionsPerSocket: 4 } };
  const tcp = { address: ':3', protocol: 'tcp', framing: 'none' };
  const { listeners } = parseStartOptions({ bind: [http, resp, tcp], limits, ...MODULE }, true);
  t.deepEqual(
    listeners.map((listener) => listener.limits),
    [
      { messageBytes: 9, bodyBytes: 8, keepAliveRequests: 1, staticCheckMs: 0, answerTimeoutMs: 7 },
      { messageBytes: 9, subscriptionsPerSocket: 4, keysBytes: 5 },
      { messageBytes: 9 },
    ],
  );
});

for (const [listener, message] of [
  [{ limits: { keysBytes: 5 } }, "keysBytes is for listeners with protocol 'resp'"],
  [{ protocol: 'resp', limits: { bodyBytes: 5 } }, "bodyBytes is for listeners with protocol 'http' or 'splice'"],
  [{ protocol: 'resp', limits: { staticCheckMs: 5 } }, "staticCheckMs is for listeners with protocol 'http'"],
  [{ protocol: 'resp', limits: { answerTimeoutMs: 5 } }, "answerTimeoutMs is for listeners with protocol 'http'"],
  [{ protocol: 'resp', limits: { keysBytes: 0 } }, 'keysBytes must be a whole number from 1 to 1099511627776, not 0'],
  [{ limits: { http2Streams: 0 } }, 'http2Streams must be a whole number from 1 to 10000, not 0'],
]) {
  test(`a listener reports: ${message}`, (t) => {
    const bind = { address: 'unix:/tmp/s', ...listener };
    t.is(messageOf({ bind, ...MODULE }), `options.bind.limits.${message}`);
  });
}

test('every limit of the types belongs to all listeners, to a protocol, or to the gateway', (t) => {
  const limits = require('../../js/dist/options/limits.generated.js');
  for (const [name, ranges] of Object.entries(limits)) {
    if (!name.endsWith('_RANGES')) continue;
    const given = Object.fromEntries(Object.entries(ranges).map(([option, { most }]) => [option, most]));
    t.is(messageOf({ bind: ':0', limits: given, ...MODULE }), 'accepted', name);
  }
});
