import test from 'ava';

import { noteSkip, SkipFile, told } from './skips.mjs';

test('reasons are told once, with how often where', (t) => {
  const nginx = { where: 'docs.test.mjs', reason: 'no nginx' };
  t.deepEqual(
    told([nginx, { where: 'step deny', reason: 'no cargo-deny' }, nginx, { ...nginx, where: 'a.test.mjs' }]),
    ['no cargo-deny\n    step deny', 'no nginx\n    a.test.mjs, docs.test.mjs (2 tests)'],
  );
  t.deepEqual(told([]), []);
});

test.serial('what is written down is read again, if anybody asked for it', (t) => {
  const before = process.env.MILLRACE_TEST_SKIPS;
  const file = new SkipFile();
  t.teardown(() => {
    file.remove();
    if (before === undefined) delete process.env.MILLRACE_TEST_SKIPS;
    else process.env.MILLRACE_TEST_SKIPS = before;
  });
  const skips = ['one', 'two'].map((where) => ({ where, reason: 'because\nof "this"' }));
  delete process.env.MILLRACE_TEST_SKIPS;
  noteSkip(skips[0]);
  t.deepEqual(file.read(), []);
  Object.assign(process.env, file.environment);
  for (const skip of skips) noteSkip(skip);
  t.deepEqual(file.read(), skips);
  file.remove();
  t.deepEqual(file.read(), []);
});
