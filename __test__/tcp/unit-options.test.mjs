// The options of a listener for raw TCP, without starting anything: which are accepted, what the native side gets, and
// how every problem is reported.
import { createRequire } from 'node:module';
import test from 'ava';

const { parseStartOptions } = createRequire(import.meta.url)('../../js/dist/options/start-options.js');

const parse = (listener, more) =>
  parseStartOptions(
    { bind: { address: ':1', protocol: 'tcp', ...listener }, workerPath: '/app/worker.js', ...more },
    true,
  ).listeners;

test('what the native side gets for each framing', (t) => {
  for (const [given, options] of [
    [{ framing: 'line' }, { framing: 'line' }],
    [
      { framing: 'line', allowHttp: true },
      { framing: 'line', allowHttp: true },
    ],
    [
      { framing: 'line', allowHttp: false },
      { framing: 'line', allowHttp: false },
    ],
    [{ framing: 'length' }, { framing: 'length', lengthBytes: 4 }],
    [
      { framing: 'length', lengthBytes: 1 },
      { framing: 'length', lengthBytes: 1 },
    ],
    [
      { framing: 'length', lengthBytes: 2 },
      { framing: 'length', lengthBytes: 2 },
    ],
    [
      { framing: 'length', lengthBytes: 4 },
      { framing: 'length', lengthBytes: 4 },
    ],
    [{ framing: 'none' }, { framing: 'none' }],
    [{ framing: 'none', lengthBytes: undefined, allowHttp: undefined }, { framing: 'none' }],
  ]) {
    t.deepEqual(parse(given), [{ address: ':1', protocol: 'tcp', options }]);
  }
});

test('common options and limits apply to this listener, too', (t) => {
  const own = { address: 'unix:/tmp/s', framing: 'line', trustProxy: ['unix'], proxyProtocol: true, reusePort: false };
  t.deepEqual(parse({ ...own, limits: { idleTimeoutMs: 1000 } }, { limits: { messageBytes: 5 } }), [
    {
      address: 'unix:/tmp/s',
      protocol: 'tcp',
      options: { framing: 'line' },
      trustProxy: ['unix'],
      proxyProtocol: true,
      reusePort: false,
      limits: { messageBytes: 5, idleTimeoutMs: 1000 },
    },
  ]);
});

test('HTTP options for all listeners do not apply to this one', (t) => {
  const common = { static: '.', origins: 'same-host', websocketPath: '/ws', events: true, stats: true, metrics: true };
  t.deepEqual(parse({ framing: 'none' }, common)[0].options, { framing: 'none' });
});

const AT = 'options.bind';
for (const [given, message] of [
  [{}, `${AT}.framing is required with protocol 'tcp': 'line', 'length' or 'none'`],
  [{ framing: 'lines' }, `${AT}.framing must be 'line', 'length' or 'none', not "lines"`],
  [{ framing: 'toString' }, `${AT}.framing must be 'line', 'length' or 'none', not "toString"`],
  [{ framing: null }, `${AT}.framing must be 'line', 'length' or 'none', not null`],
  [{ framing: ['line'] }, `${AT}.framing must be 'line', 'length' or 'none', not an array`],
  [{ framing: 'length', lengthBytes: 3 }, `${AT}.lengthBytes must be 1, 2 or 4, not 3`],
  [{ framing: 'length', lengthBytes: '4' }, `${AT}.lengthBytes must be 1, 2 or 4, not "4"`],
  [{ framing: 'length', lengthBytes: 4n }, `${AT}.lengthBytes must be 1, 2 or 4, not 4n`],
  [{ framing: 'line', allowHttp: 1 }, `${AT}.allowHttp must be true or false, not 1`],
  [{ framing: 'line', lengthBytes: 4 }, `${AT}.lengthBytes is for framing 'length'`],
  [{ framing: 'none', lengthBytes: 4 }, `${AT}.lengthBytes is for framing 'length'`],
  [{ framing: 'none', allowHttp: false }, `${AT}.allowHttp is for framing 'line'`],
  [{ framing: 'length', allowHttp: true }, `${AT}.allowHttp is for framing 'line'`],
  [{ framing: 'line', origins: '*' }, `${AT}.origins is for listeners with protocol 'http' or 'splice'`],
  [{ framing: 'line', password: 'x' }, `${AT}.password is for listeners with protocol 'resp'`],
  [{ protocol: 'http', framing: 'line' }, `${AT}.framing is for listeners with protocol 'tcp'`],
  [{ protocol: undefined, lengthBytes: 4 }, `${AT}.lengthBytes is for listeners with protocol 'tcp'`],
  [
    { protocol: 'udp', framing: 'line' },
    `${AT}.protocol must be 'http', 'resp', 'tcp', 'sockety' or 'splice', not "udp"`,
  ],
]) {
  test(`reports ${message.slice(AT.length + 1)}, given ${describe(given)}`, (t) => {
    t.throws(() => parse(given), { instanceOf: TypeError, message });
  });
}

test('all problems are reported at once', (t) => {
  const { message } = t.throws(() => parse({ framing: 'x', lengthBytes: 3, allowHttp: 1, static: '.' }));
  for (const name of ['framing', 'lengthBytes', 'allowHttp', 'static'])
    t.true(message.includes(`${AT}.${name} `), name);
});

/** For a title. */
function describe(given) {
  return JSON.stringify(given, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
