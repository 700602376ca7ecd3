// What typedoc documents: every entry of package.json's `exports`. Anything public without a doc comment is an error.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const read = (file) => readFileSync(new URL(file, import.meta.url), 'utf8');

const { repository, exports: entries } = JSON.parse(read('./package.json'));

/** "./js/dist/index.js", what `require` gets, is made of "js/src/index.ts". */
const entryPoints = Object.values(entries)
  .map((entry) => entry.require?.default)
  .filter((file) => file !== undefined)
  .map((file) => file.replace('./js/dist/', 'js/src/').replace(/\.js$/, '.ts'));

/** Links to sources go where package.json says that they are, however the repository was cloned; without that there are none. */
const sources =
  repository === undefined
    ? { disableSources: true }
    : {
        disableGit: true,
        sourceLinkTemplate: `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/main/{path}#L{line}`,
        displayBasePath: '.',
      };

/** Error codes are documented by their values. */
const codes = [...read('./js/src/errors.ts').matchAll(/^ {2}(ERR_MILLRACE_\w+):/gm)];

export default {
  entryPoints,
  tsconfig: 'tsconfig.build.json',
  // Markdown, of which scripts/docs.mjs makes a part of the site
  plugin: ['typedoc-plugin-markdown', fileURLToPath(new URL('./scripts/site/throws.mjs', import.meta.url))],
  readme: 'none',
  entryFileName: 'index',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  useHTMLEncodedBrackets: true,
  sanitizeComments: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  ...sources,
  logLevel: 'Warn',
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  treatWarningsAsErrors: true,
  preservedTypeAnnotationTags: ['@throws'],
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
      (name) => `js/src/worker/worker-types.ts:${name}`,
    ),
  ],
  validation: { notExported: true, invalidLink: true, notDocumented: true },
};
