// `npm start`: sets up what is missing, then runs the chat example, which prints its address. Arguments after
// `--` go to the example: `npm start -- --port 3001`.
import { spawn } from 'node:child_process';
import path from 'node:path';

import { fail, ROOT } from './process.mjs';
import { setUp } from './setup.mjs';

await setUp().catch(fail);

const example = path.join(ROOT, 'examples/chat/server.mjs');
const child = spawn(process.execPath, ['--enable-source-maps', example, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// A signal sent to this script alone ends the example too; Ctrl-C reaches both anyway.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.once('error', fail);
child.once('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
