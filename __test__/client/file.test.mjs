// The file that browsers load: its size, and that it is alone.
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { build } from 'esbuild';

const FILE = new URL('../../js/dist/client.mjs', import.meta.url);

/** What a program bundles to, with the client's own source. */
async function bundled(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: new URL('../../js/src', import.meta.url).pathname },
    bundle: true,
    format: 'esm',
    minify: true,
    write: false,
  });
  return outputFiles[0].text;
}

test('it is smaller than 6 KiB, minified and gzipped', async (t) => {
  const code = (await readFile(FILE, 'utf8')).replace(/\n\/\/# sourceMappingURL=\S+\n?$/, '');
  const { length } = gzipSync(code, { level: 9 });
  t.log(`${length} bytes`);
  t.true(length < 6 * 1024, `${length} bytes`);
});

test('it imports nothing', async (t) => {
  const code = await readFile(FILE, 'utf8');
  t.notRegex(code, /\bimport\b|\brequire\b/);
});

test('a program that does not use it has nothing of it', async (t) => {
  t.is(await bundled(`import { createClient, CallError } from './client.ts'; console.log(1)`), 'console.log(1);\n');
  t.true((await bundled(`import { CallError } from './client.ts'; console.log(CallError)`)).length < 500);
});
