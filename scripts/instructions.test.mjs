import test from 'ava';

import { against, judge, judgeRatios } from './instructions.mjs';
import { Failure } from './process.mjs';

const FIGURES = { 'codec/a': 1000, 'core/b': 200 };

test('counts up to the tolerance pass, and fewer do too', (t) => {
  t.notThrows(() => judge(FIGURES, { 'codec/a': 1050, 'core/b': 200 }, 5));
  t.notThrows(() => judge(FIGURES, { 'codec/a': 10, 'core/b': 200 }, 5));
});

test('a count above the tolerance fails and is named with both figures', (t) => {
  const error = t.throws(() => judge(FIGURES, { 'codec/a': 1051, 'core/b': 200 }, 5), { instanceOf: Failure });
  t.regex(error.message, /codec\/a: 1000 before, 1051 now, \+5\.1 %/);
  t.false(error.message.includes('core/b'));
  t.notThrows(() => judge(FIGURES, { 'codec/a': 1051, 'core/b': 200 }, 50));
});

test('a case without a figure fails, and a figure without a case', (t) => {
  const counts = { 'codec/a': 1000, 'core/c': 1 };
  const error = t.throws(() => judge(FIGURES, counts, 5), { instanceOf: Failure });
  t.regex(error.message, /core\/c has no figure yet, now 1/);
  t.regex(error.message, /core\/b has a figure, but there is no such case/);
});

test('a channel with history costs at most 1.15 of one without, in the same run', (t) => {
  const both = (name, plain, kept) => ({ [`server/${name}`]: plain, [`server/${name}-kept`]: kept });
  const counts = {
    ...both('publish-to-200', 1000, 1150),
    ...both('v1-publish-to-200', 10, 11),
  };
  t.notThrows(() => judgeRatios(counts));
  const error = t.throws(() => judgeRatios({ ...counts, 'server/v1-publish-to-200-kept': 12 }), {
    instanceOf: Failure,
  });
  t.regex(error.message, /v1-publish-to-200-kept: 1\.200 of server\/v1-publish-to-200, at most 1\.15/);
  t.throws(() => judgeRatios({}), { instanceOf: Failure });
});

test('other tools let more pass and are named, and another target is not compared', (t) => {
  const tools = { target: 'x86_64-unknown-linux-gnu', rustc: '1.95', valgrind: '3.19' };
  t.deepEqual(against(tools, { ...tools }), { others: [], tolerance: 5 });
  t.deepEqual(against(tools, { ...tools, valgrind: '3.24' }), { others: ['valgrind'], tolerance: 50 });
  const elsewhere = against(tools, { ...tools, target: 'aarch64-unknown-linux-gnu' });
  t.is(
    elsewhere.incomparable,
    'the instructions are known for x86_64-unknown-linux-gnu, this is aarch64-unknown-linux-gnu',
  );
});
