// Subjects of commits: which ones are refused. A folder without a history is not a failure.
import test from 'ava';

import { checkCommitSubjects, problemOf } from './commit-subjects.mjs';

test('a scope and an instruction are fine, and so is what tools write', (t) => {
  for (const subject of [
    'core: forget sockets by reverse index',
    'splice: count once a read, and share the 101 with WebSocket',
    'node, gateway: pass a token as it is',
    'js/src: process answers in turn',
    'release: 0.2.0',
    'Merge the guide to splice and its examples',
    'Revert "core: forget sockets by reverse index"',
    `core: ${'x'.repeat(66)}`,
  ]) {
    t.is(problemOf(subject), undefined, subject);
  }
});

test('descriptions, participles, third persons and long lines are not', (t) => {
  for (const [subject, why] of [
    ['benchmark: a quiet run of splice', /begins with "a"/],
    ['docs: how long a client waits', /begins with "how"/],
    ['splice: tests have their targets in a file of their own', /no imperative/],
    ['splice: echoes the reason', /no imperative/],
    ['core: added an index', /no imperative/],
    ['core: adding an index', /no imperative/],
    ['wip', /is not "scope/],
    ['Add an index', /is not "scope/],
    ['core: Add an index', /is not "scope/],
    ['core: add an index.', /full stop/],
    [`core: ${'x'.repeat(67)}`, /73 characters/],
  ]) {
    t.regex(problemOf(subject) ?? '', why, subject);
  }
});

test('a range that is not there is named', async (t) => {
  await t.throwsAsync(checkCommitSubjects('no-such-branch..'), { message: /git log no-such-branch\.\. failed/ });
});
