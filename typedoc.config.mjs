// What typedoc documents: every entry of package.json's `exports`. Anything public without a doc comment is an error.
import { readFileSync } from 'node:fs';

const read = (file) => readFileSync(new URL(file, import.meta.url), 'utf8');

/** "./js/dist/index.js", what `require` gets, is made of "js/src/index.ts". */
const entryPoints = Object.values(JSON.parse(read('./package.json')).exports)
  .map((entry) => entry.require?.default)
  .filter((file) => file !== undefined)
  .map((file) => file.replace('./js/dist/', 'js/src/').replace(/\.js$/, '.ts'));

/** Error codes are documented by their values. */
const codes = [...read('./js/src/errors.ts').matchAll(/^ {2}(ERR_MILLRACE_\w+):/gm)];

export default {
  entryPoints,
  tsconfig: 'tsconfig.build.json',
  out: 'docs/api',
  readme: 'README.md',
  // Links to sources do not depend on how and where the repository was cloned.
  disableGit: true,
  sourceLinkTemplate: 'https://github.com/millrace/millrace/blob/main/{path}#L{line}',
  displayBasePath: '.',
  excludeInternal: true,
  excludePrivate: true,
  treatWarningsAsErrors: true,
  requiredToBeDocumented: [
    'Enum',
    'EnumMember',
    'Variable',
    'Function',
    'Class',
    'Interface',
    'Constructor',
    'Property',
    'Method',
    'Accessor',
    'TypeAlias',
  ],
  intentionallyNotDocumented: [
    ...codes.map(([, code]) => `millrace.ERROR_CODES.__type.${code}`),
    'millrace.MillraceError.constructor', // an application catches these errors, it makes none
  ],
  // steps of types that are shown by what they come to
  intentionallyNotExported: [
    'js/src/http/router.ts:Either',
    ...['Always', 'Flat', 'Names'].map((name) => `js/src/http/route-params.ts:${name}`),
    ...['ArgOf', 'BytesOnly', 'DataOf', 'NeedsArg', 'Received', 'TokenOf'].map(
      (name) => `js/src/worker/define.ts:${name}`,
    ),
  ],
  validation: { notExported: true, invalidLink: true, notDocumented: true },
};
