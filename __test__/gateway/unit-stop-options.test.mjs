// The options of `stop` and `stopOnSignals`, without stopping anything.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { parseStartOptions } = require('../../js/dist/options/start-options.js');
const { parseDrainOptions, parseStopOptions } = require('../../js/dist/options/server-options.js');

test('stopping drains for five seconds by default', (t) => {
  t.is(parseDrainOptions(undefined), 5000);
  t.is(parseDrainOptions({}), 5000);
  t.is(parseDrainOptions({ drain: 0 }), 0);
  t.throws(() => parseDrainOptions({ drain: '1' }), { instanceOf: TypeError, message: /options\.drain/ });
  t.throws(() => parseDrainOptions({ drian: 1 }), { instanceOf: TypeError, message: /unknown option options\.drian/ });
  t.throws(() => parseDrainOptions({ spread: 1 }), {
    instanceOf: TypeError,
    message: /unknown option options\.spread/,
  });
});

test('a stop may be spread, with a close code that may be sent', (t) => {
  const none = { drainMs: undefined, spreadMs: undefined, code: 1012 };
  t.deepEqual(parseStopOptions(undefined), none);
  t.deepEqual(parseStopOptions({}), none);
  t.deepEqual(parseStopOptions({ drain: 0, spread: 86_400_000 }), { ...none, drainMs: 0, spreadMs: 86_400_000 });
  for (const code of [1000, 1001, 1012, 3000, 4999]) t.is(parseStopOptions({ spread: 1, code }).code, code);
  const refused = (options, message) => t.throws(() => parseStopOptions(options), { instanceOf: TypeError, message });
  for (const code of [999, 1004, 1005, 1006, 1015, 2999, 5000, 1012.5, '1012', null]) {
    refused({ spread: 1, code }, /^options\.code must be 1000 to 1003, 1007 to 1014 or 3000 to 4999, not /);
  }
  refused({ code: 1012 }, /^options\.code is used only with options\.spread$/);
  refused({ spread: -1, drain: '1' }, /^options\.drain must be .*; options\.spread must be /);
  refused({ spread: 86_400_001 }, /^options\.spread must be /);
  refused(null, /^options must be an object/);
  const signals = (stopOnSignals) => parseStartOptions({ bind: ':0', handlers: {}, stopOnSignals }, true);
  t.throws(() => signals({ spread: 'x' }), { message: /^options\.stopOnSignals\.spread must be / });
});
