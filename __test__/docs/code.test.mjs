// Every block of code in README.md, the guides and the pages beside them is checked: JavaScript and TypeScript by
// the type checker, against the package as users get it; commands for what they name. `../examples/docs.test.mjs`,
// `readme.test.mjs` and `deployment.test.mjs` run whole programs.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import ts from 'typescript';

import { CommandCheck } from '../support/commands.mjs';
import { blocksOf, pages, placeOf, ROOT } from '../support/markdown.mjs';
import { remove } from '../support/teardown.mjs';

const SCRIPTS = { js: '.mjs', ts: '.mts' };
/** Languages that are no program, or that `deployment.test.mjs` gives to the program that reads them. */
const OTHERS = ['', 'text', 'json', 'html', 'nginx', 'ini', 'dockerfile'];
/** An exception must be rare. */
const MOST_EXCEPTIONS = 8;

const all = (await Promise.all((await pages()).map(blocksOf))).flat();
const checked = all.filter(({ exception }) => exception === undefined);
const inLanguages = (...languages) => checked.filter(({ language }) => languages.includes(language));

test('every block has a language that is checked', (t) => {
  const known = [...Object.keys(SCRIPTS), 'sh', ...OTHERS];
  t.deepEqual(all.filter(({ language }) => !known.includes(language)).map(placeOf), []);
  t.true(all.length > 20);
});

test('exceptions are few and say why', (t) => {
  const exceptions = all.filter(({ exception }) => exception !== undefined);
  for (const block of exceptions) {
    t.log(`${placeOf(block)} is not checked: ${block.exception}`);
    t.true(block.exception.length >= 20, placeOf(block));
    if (block.language in SCRIPTS) t.deepEqual(syntaxErrors(block.code), [], placeOf(block));
  }
  t.true(exceptions.length <= MOST_EXCEPTIONS, `${exceptions.length} exceptions`);
});

test('JavaScript and TypeScript fit the types of the package', async (t) => {
  t.deepEqual(await problemsOf(inLanguages('js', 'ts')), []);
});

test('code that does not fit is found', async (t) => {
  const block = (code, more) => ({ page: 'page.md', line: 7, language: 'js', code, given: '', ...more });
  t.deepEqual(await problemsOf([block("import { send } from 'millrace';\nsend(1, 'a', { except: 2 });\n")]), []);
  for (const [code, message] of [
    ['send(1);\n', "Cannot find name 'send'"],
    ["import { send } from 'millrace';\nsend(1);\n", 'Expected 2-3 arguments, but got 1'],
    ["import { sned } from 'millrace';\nsned(1, 'a');\n", 'sned'],
    ["import { start } from 'millrace';\nawait start({ bnid: ':0' });\n", 'bnid'],
    ['const a = ;\n', 'Expression expected'],
  ]) {
    const [problem, ...others] = await problemsOf([block(code)]);
    t.true(problem?.startsWith('page.md:') && problem.includes(message), `${problem}`);
    t.deepEqual(others, []);
  }
  const given = { given: "import { send } from 'millrace'; declare const id: number;", language: 'ts' };
  t.deepEqual(await problemsOf([block("send(id, 'a');\n", given)]), []);
});

test('JSON is JSON', (t) => {
  const isJson = ({ code }) => {
    try {
      return JSON.parse(code) !== undefined;
    } catch {
      return false;
    }
  };
  t.deepEqual(
    inLanguages('json').filter((block) => !isJson(block)),
    [],
  );
  t.false(isJson({ code: '{"a": }' }));
});

test('commands name what exists', async (t) => {
  const commands = await CommandCheck.create();
  const blocks = inLanguages('sh');
  t.true(blocks.length > 5);
  for (const block of blocks) {
    await t.notThrowsAsync(promisify(execFile)('bash', ['-n', '-c', block.code]), placeOf(block));
    // A page may go on with the files of the README's example.
    const files = all.filter(({ page }) => page === block.page || page === 'README.md').map(({ file }) => file);
    t.deepEqual(commands.problems(block.code, files), [], placeOf(block));
  }
});

test('commands that name what does not exist are found', async (t) => {
  const commands = await CommandCheck.create();
  for (const wrong of [
    'npm run nothing',
    'npm test -- nothing',
    'node nothing.mjs',
    'node examples/chat/server.mjs --nothing 1',
    'npx nothing',
    'npx millrace nothing',
    'npx millrace serve worker.mjs --nothing',
    'cargo test -p nothing',
    'cargo xtask nothing',
    'cargo +nightly fuzz run nothing',
    'MILLRACE_NOTHING=1 npm test',
    'frobnicate',
    'cd examples && npm run nothing',
  ]) {
    t.is(commands.problems(wrong, []).length, 1, wrong);
  }
  t.deepEqual(commands.problems('PORT=1 node server.mjs # starts it', ['server.mjs']), []);
});

function syntaxErrors(code) {
  const { diagnostics } = ts.transpileModule(code, { compilerOptions: OPTIONS, reportDiagnostics: true });
  return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

/** What the type checker says about blocks: "docs/workers.md:12: message". */
async function problemsOf(blocks) {
  await mkdir(path.join(ROOT, 'target'), { recursive: true });
  const folder = await mkdtemp(path.join(ROOT, 'target', 'docs-code-'));
  try {
    await mkdir(path.join(folder, 'node_modules'));
    await symlink(ROOT, path.join(folder, 'node_modules', 'millrace'), 'junction');
    const origins = new Map();
    for (const [index, block] of blocks.entries()) {
      // A page's files may import each other, so they share a folder.
      const own = path.join(folder, block.page.replaceAll(/[^\w]/g, '-'));
      await mkdir(own, { recursive: true });
      const name = block.file ?? `fragment-${index}${block.given === '' ? SCRIPTS[block.language] : '.mts'}`;
      const file = path.join(own, name);
      if (origins.has(file)) return [`${placeOf(block)}: ${name} is there twice`];
      origins.set(file, block);
      await writeFile(file, block.file === undefined ? `${block.given} export {};\n${block.code}` : block.code);
    }
    const options = { ...OPTIONS, typeRoots: [path.join(ROOT, 'node_modules/@types')] };
    const program = ts.createProgram([...origins.keys()], options);
    return ts.getPreEmitDiagnostics(program).map((diagnostic) => shown(diagnostic, origins));
  } finally {
    await remove(folder);
  }
}

const OPTIONS = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: ['node'],
  allowJs: true,
  checkJs: true,
  strict: true,
  // What a handler's parameters are is known only where a block says so.
  noImplicitAny: false,
  useUnknownInCatchVariables: false,
  skipLibCheck: true,
  noEmit: true,
};

function shown({ file, start = 0, messageText }, origins) {
  const message = ts.flattenDiagnosticMessageText(messageText, ' ');
  const block = origins.get(path.normalize(file?.fileName ?? ''));
  if (block === undefined) return `${file?.fileName}: ${message}`;
  const before = block.file === undefined ? 0 : 1;
  const line = block.line + before + ts.getLineAndCharacterOfPosition(file, start).line;
  return `${block.page}:${line}: ${message}`;
}
