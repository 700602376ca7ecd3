// What the hosted workflows and .ci/run must agree on.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { ROOT } from './process.mjs';

test('everything that installs actionlint installs one version', (t) => {
  const versions = ['.ci/run', '.github/workflows/ci.yml', 'scripts/test.mjs'].map((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    return /rhysd\/actionlint\/cmd\/actionlint@(\S+?)[\s,]/.exec(text)?.[1];
  });
  t.is(new Set(versions).size, 1, versions.join(', '));
  t.regex(versions[0], /^v\d+\.\d+\.\d+$/);
});
