// The option `channels`: what may be said about history.
import { createRequire } from 'node:module';

import test from 'ava';

const require = createRequire(import.meta.url);
const { parseStartOptions } = require('../../js/dist/options/start-options.js');

const MODULE = { bind: ':0', workerPath: 'worker.mjs' };
const problemsOf = (options) => {
  try {
    parseStartOptions({ ...MODULE, ...options }, true);
  } catch (error) {
    return error.message;
  }
  return 'none';
};

test('history needs both bounds, within their ranges', (t) => {
  const at = 'options.channels["a"].history';
  for (const [history, message] of [
    [1, `${at} must be an object, not 1`],
    [{ messages: 1 }, `${at}.ageMs must be a whole number from 1 to 604800000, not null`],
    [{ ageMs: 1 }, `${at}.messages must be a whole number from 1 to 10000, not null`],
    [{ messages: 0, ageMs: 1 }, `${at}.messages must be a whole number from 1 to 10000, not 0`],
    [{ messages: 10_001, ageMs: 1 }, `${at}.messages must be a whole number from 1 to 10000, not 10001`],
    [{ messages: 1, ageMs: 604_800_001 }, `${at}.ageMs must be a whole number from 1 to 604800000, not 604800001`],
    [{ messages: 1, ageMs: 1, age: 1 }, `unknown option ${at}.age`],
  ]) {
    t.is(problemsOf({ channels: { a: { history } } }), message);
  }
  t.is(problemsOf({ channels: { 1: {} } }).includes('use a list of [glob, terms]'), true);
  const history = { messages: 10_000, ageMs: 604_800_000 };
  t.is(problemsOf({ channels: [['1', { history }]] }), 'none');
  t.is(problemsOf({ channels: { a: { history } }, backplane: { url: 'redis://127.0.0.1' } }), 'none');
  t.is(problemsOf({ channels: { a: { history } }, backplane: 'redis+cluster://127.0.0.1' }), 'none');
  t.is(problemsOf({ channels: { a: { history } }, backplane: 'nats://127.0.0.1' }), 'none');
  t.is(problemsOf({ channels: { a: {} }, backplane: 'nats://127.0.0.1' }), 'none');
  const presence = true;
  t.is(problemsOf({ channels: { a: { presence } }, backplane: 'redis://127.0.0.1' }), 'none');
  t.is(problemsOf({ channels: { a: { presence } }, backplane: 'redis+cluster://127.0.0.1' }), 'none');
  t.is(problemsOf({ channels: { a: { presence } }, backplane: 'nats://127.0.0.1' }), 'none');
  t.regex(problemsOf({ channels: { a: { presence: 1 } } }), /\.presence must be true or false, not 1/);
});
