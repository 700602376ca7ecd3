// An unknown option that is probably a slip: the error names the option that was meant.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { parseStartOptions } = require('../../js/dist/options/start-options.js');

function messageOf(options) {
  try {
    parseStartOptions(options, true);
  } catch (error) {
    return error.message;
  }
  return 'accepted';
}

test('a misspelt option names the one that was probably meant', (t) => {
  for (const [wrong, meant] of [
    ['stopOnSignal', 'stopOnSignals'],
    ['workerpath', 'workerPath'],
    ['thraeds', 'threads'],
  ]) {
    const message = `unknown option options.${wrong}; did you mean ${meant}?`;
    t.is(messageOf({ bind: ':0', handlers: {}, [wrong]: true }), message);
  }
  t.is(
    messageOf({ bind: ':0', handlers: {}, limits: { messageByte: 1 } }),
    'unknown option options.limits.messageByte; did you mean messageBytes?',
  );
  for (const other of ['port', 'x', 'thread_count', 'y'.repeat(100_000)]) {
    t.is(messageOf({ bind: ':0', handlers: {}, [other]: 1 }), `unknown option options.${other}`);
  }
  t.is(messageOf({ bind: ':0', handlers: {}, threads: 0, thread: 1 }), 'unknown option options.thread');
});
