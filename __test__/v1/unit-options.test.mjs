// The option `clients` of the terms of channels, without starting anything.
import { createRequire } from 'node:module';
import test from 'ava';

const require = createRequire(import.meta.url);
const { readChannels } = require('../../js/dist/options/channels.js');

function read(clients) {
  const problems = [];
  const [{ pattern: _, compress: __, ...plan }] = readChannels({ 'a*': { clients } }, 'channels', problems);
  return { plan, problems };
}

test('clients may do nothing unless the terms say so', (t) => {
  const nothing = { subscribe: false, publish: false, showsPublisher: false, info: false };
  for (const [clients, plan] of [
    [undefined, nothing],
    [{}, nothing],
    [{ subscribe: undefined, publish: false }, nothing],
    [{ subscribe: true }, { ...nothing, subscribe: true }],
    [{ publish: true }, { ...nothing, publish: true }],
    [{ info: true }, { ...nothing, info: true }],
    [{ publish: { from: true } }, { ...nothing, publish: true, showsPublisher: true }],
    [{ publish: { from: false } }, { ...nothing, publish: true }],
  ]) {
    t.deepEqual(read(clients), { plan, problems: [] });
  }
});

test('every problem is named', (t) => {
  const at = 'channels["a*"].clients';
  for (const [clients, problem] of [
    [true, `${at} must be an object, not true`],
    [{ subscribe: 1 }, `${at}.subscribe must be true or false, not 1`],
    [{ publish: 'yes' }, `${at}.publish must be true, false or { from: true }, not "yes"`],
    [{ publish: { from: 1 } }, `${at}.publish.from must be true or false, not 1`],
    [{ publish: { form: true } }, `unknown option ${at}.publish.form; did you mean from?`],
    [{ publsh: true }, `unknown option ${at}.publsh; did you mean publish?`],
  ]) {
    t.deepEqual(read(clients).problems, [problem]);
  }
});
