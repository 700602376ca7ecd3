// The option `compression`, without starting anything: what is accepted, and how every problem is named.
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

test('compression is on, off or an object, for all listeners or one', (t) => {
  const plan = parseStartOptions(
    {
      bind: [
        ':0',
        { address: ':0', compression: false },
        { address: ':0', compression: { threshold: 0, level: 9, clientContextTakeover: true } },
        { address: ':0', protocol: 'tcp', framing: 'line' },
      ],
      compression: true,
      ...MODULE,
    },
    true,
  );
  t.deepEqual(
    plan.listeners.map(({ options }) => options.compression),
    [{}, undefined, { threshold: 0, level: 9, clientContextTakeover: 'always' }, undefined],
  );
  const all = {
    threshold: 1,
    level: 1,
    serverContextTakeover: true,
    clientContextTakeover: 'bounded',
    serverMaxWindowBits: 8,
    clientMaxWindowBits: 15,
    memoryBytes: 0,
  };
  const [{ options }] = parseStartOptions({ bind: ':0', compression: all, ...MODULE }, true).listeners;
  t.deepEqual(options.compression, all);
  const off = { bind: ':0', compression: { clientContextTakeover: false }, ...MODULE };
  t.deepEqual(parseStartOptions(off, true).listeners[0].options.compression, { clientContextTakeover: 'never' });
  t.is(parseStartOptions({ bind: ':0', ...MODULE }, true).listeners[0].options.compression, undefined);
});

test('wrong values of compression are named with their path', (t) => {
  for (const [compression, problem] of [
    ['yes', 'options.compression must be true, false or an object, not "yes"'],
    [[], 'options.compression must be true, false or an object, not an array'],
    [null, 'options.compression must be true, false or an object, not null'],
    [{ level: 0 }, 'options.compression.level must be a whole number from 1 to 9, not 0'],
    [{ threshold: -1 }, 'options.compression.threshold must be a whole number from 0 to 2147483647, not -1'],
    [{ serverMaxWindowBits: 7 }, 'options.compression.serverMaxWindowBits must be a whole number from 8 to 15, not 7'],
    [
      { clientMaxWindowBits: 16 },
      'options.compression.clientMaxWindowBits must be a whole number from 8 to 15, not 16',
    ],
    [{ memoryBytes: 1.5 }, 'options.compression.memoryBytes must be a whole number from 0 to 1099511627776, not 1.5'],
    [
      { serverContextTakeover: 'bounded' },
      'options.compression.serverContextTakeover must be true or false, not "bounded"',
    ],
    [{ clientContextTakeover: 1 }, "options.compression.clientContextTakeover must be true, false or 'bounded', not 1"],
    [{ memory: 1 }, 'unknown option options.compression.memory'],
  ]) {
    t.is(messageOf({ bind: ':0', compression, ...MODULE }), problem);
    const listener = { address: ':0', compression };
    t.is(messageOf({ bind: [listener], ...MODULE }), problem.replace('options.', 'options.bind[0].'));
  }
  t.is(
    messageOf({ bind: [{ address: ':0', protocol: 'tcp', framing: 'line', compression: true }], ...MODULE }),
    "options.bind[0].compression is for listeners with protocol 'http'",
  );
});
