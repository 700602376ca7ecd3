// The changelog of a release: the script finds its notes, and moves the unreleased section under the version.
import test from 'ava';

import { notesOf, released } from './changelog.mjs';

const TEXT = '# Changelog\n\nText.\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2026-01-02)\n\n### Added\n\n- Old.\n';

test('the notes of a version are its section', (t) => {
  t.is(notesOf(TEXT, '0.1.0'), '### Added\n\n- Old.');
  t.is(notesOf(TEXT, 'Unreleased'), '- New.');
  t.throws(() => notesOf(TEXT, '0.1'), { message: /no section for 0\.1$/ });
});

test('a release moves what was unreleased, once', (t) => {
  const after = released(TEXT, '0.2.0', '2026-03-04');
  t.is(notesOf(after, '0.2.0'), '- New.');
  t.is(notesOf(after, '0.1.0'), '### Added\n\n- Old.');
  t.true(after.startsWith('# Changelog\n\nText.\n\n## Unreleased\n\n## 0.2.0 (2026-03-04)\n\n- New.\n\n## 0.1.0'));
  t.throws(() => released(after, '0.3.0', '2026-03-05'), { message: /says nothing about Unreleased/ });
  t.throws(() => released(TEXT, '0.1.0', '2026-03-05'), { message: /section for 0\.1\.0 already/ });
});
