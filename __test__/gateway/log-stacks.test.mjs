// The stack in the report of a failing handler: the place in its TypeScript source, without frames of Millrace.
import test from 'ava';
import ts from 'typescript';

import { folderWith, Millrace, PACKAGE } from '../support/cli.mjs';
import { connect } from '../support/ws-client.mjs';

const SOURCE = `import { send } from '${PACKAGE}';

interface Unused {
  text: string;
}

function inner({ text }: Unused): never {
  throw new Error(\`cannot \${text}\`);
}

export async function handleTextMessage(text: string, id: number): Promise<void> {
  send(id, text);
  inner({ text });
}
`;

/** TypeScript as a bundler or \`tsc\` leaves it: shorter than its source, with a map beside it. */
function compiled() {
  const { outputText, sourceMapText } = ts.transpileModule(SOURCE, {
    fileName: 'worker.ts',
    compilerOptions: { module: 'esnext', target: 'es2022', sourceMap: true, removeComments: true },
  });
  const map = JSON.stringify({ ...JSON.parse(sourceMapText), sourcesContent: [SOURCE] });
  return { 'worker.mjs': outputText.replace('worker.js.map', 'worker.mjs.map'), 'worker.mjs.map': map };
}

for (const [runtime, files, name] of [
  ['node', compiled(), 'worker.mjs'],
  ['deno', compiled(), 'worker.mjs'],
  ['deno', { 'worker.ts': SOURCE }, 'worker.ts'],
  ['bun', { 'worker.ts': SOURCE }, 'worker.ts'],
]) {
  test(`${runtime}, ${name}: a report shows the line of the source`, async (t) => {
    const cwd = folderWith(t, files);
    const run = new Millrace(t, ['serve', name, '--bind', '127.0.0.1:0', '--threads', '1'], { runtime, cwd });
    const client = await connect(t, await run.address());
    client.send('fly');
    await client.closed();
    await run.prints(/worker\.ts:13:\d+\)/, 'err');
    t.regex(run.err, /^millrace: handleTextMessage failed for socket 1: cannot fly \(ERR_MILLRACE_HANDLER_FAILED\)\n/);
    t.regex(
      run.err,
      /Error: cannot fly\n +at inner \(\S*worker\.ts:8:\d+\)\n +at .*handleTextMessage \(\S*worker\.ts:13:\d+\)/,
    );
    t.notRegex(run.err, /runner|dispatch/, 'how the handler was called is not shown');
  });
}
