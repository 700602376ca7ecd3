// The log's rules and lines, without a server.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { formatLine, parseLogRules, wantsColour } = require('../../js/dist/log/log.js');
const { parseStartOptions } = require('../../js/dist/options/start-options.js');

test('rules: levels, targets, both, in any spelling', (t) => {
  for (const [text, rules] of [
    ['', []],
    ['debug', [{ prefix: '', level: 'debug' }]],
    [
      ' WARN , millrace::worker = trace,',
      [
        { prefix: '', level: 'warn' },
        { prefix: 'millrace::worker', level: 'trace' },
      ],
    ],
    ['millrace=off', [{ prefix: 'millrace', level: 'off' }]],
  ]) {
    t.deepEqual(parseLogRules(text, false), { rules, problems: [] }, text);
  }
  t.deepEqual(parseLogRules('hyper', true), { rules: [{ prefix: 'hyper', level: 'trace' }], problems: [] });
  t.deepEqual(parseLogRules('debgu,info,a=b', false), {
    rules: [{ prefix: '', level: 'info' }],
    problems: ['"debgu"', '"a=b"'],
  });
});

test('a wrong onLog or logLevel is a TypeError that names it', (t) => {
  const given = { bind: ':0', workerPath: './w.mjs' };
  t.throws(() => parseStartOptions({ ...given, logLevel: 'debgu' }, true), {
    instanceOf: TypeError,
    message: /^options\.logLevel must be off, error, warn, info, debug, trace or rules such as .*, not "debgu"$/,
  });
  t.throws(() => parseStartOptions({ ...given, logLevel: 5, onLog: 'console' }, true), {
    instanceOf: TypeError,
    message: /options\.onLog must be a function, not "console"[\s\S]*options\.logLevel must be .*, not 5/,
  });
  t.is(parseStartOptions({ ...given, logLevel: 'debug' }, true).log.level, 'debug');
});

const line = {
  time: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  level: 'warn',
  target: 'millrace::connection',
  message: 'refused',
  fields: { address: '::1', status: 503, reason: 'Too many\nforged INFO line', by_peer: true },
};

test('a line for people; what looks like another line is quoted', (t) => {
  t.is(
    formatLine(line, false),
    '2026-01-02T03:04:05.006Z  WARN millrace::connection: refused address=::1 status=503 ' +
      'reason="Too many\\nforged INFO line" by_peer=true',
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  t.is(formatLine(line, true).replaceAll(/\x1b\[\d+m/g, ''), formatLine(line, false));
  t.not(formatLine(line, true), formatLine(line, false));
});

test.serial('colours on a terminal, unless NO_COLOR is set to something', (t) => {
  const before = process.env.NO_COLOR;
  t.teardown(() => {
    if (before === undefined) delete process.env.NO_COLOR;
    else process.env.NO_COLOR = before;
  });
  delete process.env.NO_COLOR;
  t.true(wantsColour({ isTTY: true }));
  t.false(wantsColour({ isTTY: false }));
  t.false(wantsColour({}));
  process.env.NO_COLOR = '1';
  t.false(wantsColour({ isTTY: true }));
  process.env.NO_COLOR = '';
  t.true(wantsColour({ isTTY: true }));
});
