// Server.replaceWorkers: new workers while clients send, and the errors if there can be no new workers.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { folderWith, Millrace, PACKAGE, RUNTIMES } from '../support/cli.mjs';
import { until } from '../support/deadline.mjs';
import { connect, Refused } from '../support/ws-client.mjs';

const program = path.join(path.dirname(fileURLToPath(import.meta.url)), '../support/replace-main.mjs');

const WORKER = `
import { send } from '${PACKAGE}';
const opened = new Set();
export function handleOpen(id) { opened.add(id); }
export async function handleTextMessage(text, id) { await null; send(id, text); }
export function handleClose(id, _token, code) {
  if (!opened.delete(id)) console.log('UNKNOWN ' + id);
  console.log('CLOSED ' + code);
}
export function handleStop() { console.log('LEFT ' + opened.size); }
`;

function run(t, threads, worker = WORKER, runtime = 'node') {
  const cwd = folderWith(t, { 'worker.mjs': worker });
  const server = new Millrace(t, [String(threads), 'worker.mjs'], { program, runtime, cwd });
  return { server, file: path.join(cwd, 'worker.mjs') };
}

const count = (server, word) => server.out.split(`${word}\n`).length - 1;

/** Sends messages and reads their echoes until it is ended; reconnects when its worker is replaced. */
async function talk(t, address, state) {
  let said = 0;
  while (!state.over) {
    const client = await connect(undefined, address).catch((error) => {
      // the worker ended during the handshake
      if (error instanceof Refused && error.status === 503) return undefined;
      throw error;
    });
    if (client === undefined) continue;
    while (!state.over && !client.over && client.closeFrame === undefined) {
      client.send(`${said}`);
      // rejects when the connection ends
      const answer = await client.next().catch(() => undefined);
      if (answer === undefined) break;
      t.is(answer.data, `${said}`);
      said += 1;
      state.answers += 1;
    }
    if (!state.over) t.is(client.closeFrame?.code, 1012);
    else client.close(1000);
    await client.closed();
  }
}

for (const runtime of RUNTIMES) {
  test.serial(`${runtime}: workers are replaced while clients send`, async (t) => {
    const { server } = run(t, 3, WORKER, runtime);
    const address = await server.address();
    const state = { over: false, answers: 0 };
    const talks = Array.from({ length: 12 }, () => talk(t, address, state));
    const failed = Promise.all(talks).then(() => new Promise(() => {}));
    for (let round = 1; round <= 5; round += 1) {
      const before = state.answers;
      const answered = until(async () => state.answers > before, 'answers between two replacements');
      await Promise.race([answered, failed]);
      server.tell('replace');
      const replaced = until(
        async () => count(server, 'REPLACED') === round,
        () => `replacement ${round}\n${server.out}${server.err}`,
      );
      await Promise.race([replaced, failed]);
    }
    state.over = true;
    await Promise.all(talks);
    server.tell('stop');
    t.is(await server.exit(), 0);
    const { opened, closed, unhandledCloses, workers } = JSON.parse(/^STATS (.*)$/m.exec(server.out)[1]);
    t.true(opened > 12);
    t.deepEqual({ closed, unhandledCloses, workers }, { closed: opened, unhandledCloses: 0, workers: 3 });
    t.is([...server.out.matchAll(/^CLOSED /gm)].length, opened, 'one handleClose for each connection');
    t.notRegex(server.out, /UNKNOWN/, 'handleClose runs in the worker of the connection');
    t.is([...server.out.matchAll(/^LEFT 0$/gm)].length, 3 + 5 * 3, 'every worker ended with handleStop');
    t.notRegex(server.out, /REPORTED/);
  });
}

test('if the module can no longer be loaded, the workers stay', async (t) => {
  const { server, file } = run(t, 2);
  const client = await connect(t, await server.address());
  writeFileSync(file, 'export const = 1;\n');
  server.tell('replace');
  await server.prints(/FAILED ERR_MILLRACE_WORKER_FAILED/);
  client.send('still there');
  t.is((await client.next()).data, 'still there');
  writeFileSync(file, WORKER);
  server.tell('replace');
  await server.prints(/REPLACED/);
  await client.closed();
  t.is(client.closeFrame.code, 1012);
});

test('replaceWorkers rejects without worker threads and after stop', async (t) => {
  const { server } = run(t, 0);
  await server.address();
  server.tell('replace');
  await server.prints(/FAILED ERR_MILLRACE_NOT_RUNNING/);
  server.tell('stop');
  t.is(await server.exit(), 0);
  t.is([...server.out.matchAll(/FAILED ERR_MILLRACE_NOT_RUNNING/g)].length, 2);
});

test('a running handler finishes before its worker ends', async (t) => {
  const slow = `
export async function handleTextMessage() {
  console.log('BEGUN');
  await new Promise((resolve) => setTimeout(resolve, 300));
  console.log('DONE');
}
export function handleStop() { console.log('STOPPED'); }
`;
  const { server } = run(t, 1, slow);
  const client = await connect(t, await server.address());
  client.send('work');
  await server.prints(/BEGUN/);
  server.tell('replace');
  await server.prints(/BEGUN\nDONE\nSTOPPED\nREPLACED/);
  t.is((await client.closed()).code, 1012);
});
