// Tests that cannot run on every machine: skipped with the reason in their title, which `npm test` lists at the end.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ava from 'ava';

import { isRequired, whatIsMissing } from '../../scripts/optional-tools.mjs';
import { noteSkip } from '../../scripts/skips.mjs';

/**
 * `test` for tests that need these optional tools. If one is missing, the tests are skipped, or fail if nothing may be
 * skipped (MILLRACE_REQUIRE_ALL=1), and hooks do not run.
 *
 * @param {import('ava').TestFn} test or `test.serial`
 * @param {...string} tools names in scripts/optional-tools.mjs
 */
export function needing(test, ...tools) {
  return unless(whatIsMissing(tools), test);
}

/** The same for any other reason that an installation could remove; undefined: the tests run. */
export function unless(missing, test) {
  if (missing === undefined) return test;
  if (!isRequired()) return skipping(test, missing);
  return instead(test, (declare, title) => declare(title, (t) => t.fail(missing)));
}

/** `test`, but all tests are skipped for this reason, which the user cannot change. */
export function skipping(test, reason) {
  return instead(test, (declare, title) => {
    noteSkip({ where: path.basename(fileURLToPath(ava.meta.file)), reason });
    declare.skip(`${title} (${reason})`, () => {});
  });
}

/** A replacement for `test`: `act` gets the function that declares a test, and the title of each test. */
function instead(test, act) {
  const never = Object.assign(() => {}, { always: () => {} });
  const declare = (title) => act(test, title);
  const hooks = { before: never, after: never, beforeEach: never, afterEach: never };
  Object.assign(declare, hooks, { skip: test.skip });
  // ava's own allows any chain, such as test.serial.serial
  return Object.defineProperty(declare, 'serial', { get: () => instead(test.serial ?? test, act) });
}
