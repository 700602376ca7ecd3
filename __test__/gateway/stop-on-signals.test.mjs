// `stopOnSignals`: programs as users write them, in every runtime, which only a signal ends.
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { folderWith, Millrace, PACKAGE } from '../support/cli.mjs';
import { until } from '../support/deadline.mjs';
import { signalTests } from '../support/platforms.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { connect } from '../support/ws-client.mjs';

const APP = PACKAGE.replace('index.mjs', 'http.mjs');
const SPLICE = PACKAGE.replace('index.mjs', 'splice.mjs');

/** Starts a program in a runtime. */
function run(t, runtime, text) {
  const cwd = folderWith(t, { 'server.mjs': text });
  return { cwd, program: new Millrace(t, [], { runtime, cwd, program: path.join(cwd, 'server.mjs') }) };
}

const listening = (server = 'server') =>
  `for (const address of ${server}.addresses) console.log('Listening on ws://' + address);`;

function inEach(title, body) {
  for (const runtime of ['node', 'bun', 'deno']) {
    signalTests(needingRuntime(test, runtime))(`${runtime}: ${title}`, (t) => body(t, runtime));
  }
}

inEach('a signal drains, and the process ends by itself', async (t, runtime) => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const { program } = run(
      t,
      runtime,
      `import { start } from '${PACKAGE}';
       const handlers = {
         handleClose: (id, token, code) => console.log('handleClose ' + code),
         handleStop: () => console.log('handleStop'),
       };
       const server = await start({ bind: '127.0.0.1:0', handlers, stopOnSignals: true });
       server.stopped.then(() => console.log('stopped'));
       ${listening()}`,
    );
    const client = await connect(t, await program.address());
    program.signal(signal);
    await client.closed();
    t.is(client.closeFrame.code, 1001);
    t.is(await program.exit(), 0, program.err);
    t.regex(program.out, /handleClose 1001\nhandleStop\nstopped\n$/);
    t.is(program.err, '');
  }
});

inEach('a second signal ends the process at once', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { start } from '${PACKAGE}';
     const handlers = { handleClose: () => (console.log('pending'), new Promise(() => {})) };
     const server = await start({ bind: '127.0.0.1:0', handlers, limits: { handlerTimeoutMs: 600_000 } });
     server.stopOnSignals();
     server.stopOnSignals();
     ${listening()}`,
  );
  await connect(t, await program.address());
  program.signal('SIGTERM');
  await program.prints(/pending/);
  program.signal('SIGINT');
  t.is(await program.exit(), 130, program.err);
});

inEach('a signal while the server starts stops it when it has started', async (t, runtime) => {
  const { program, cwd } = run(
    t,
    runtime,
    `import { existsSync, writeFileSync } from 'node:fs';
     import { start } from '${PACKAGE}';
     process.on('SIGTERM', () => writeFileSync('came', ''));
     const handlers = {
       async handleStart() {
         console.log('starting');
         while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 10));
       },
       handleStop: () => console.log('handleStop'),
     };
     await start({ bind: '127.0.0.1:0', handlers, stopOnSignals: true });
     console.log('started');`,
  );
  await program.prints(/starting/);
  program.signal('SIGTERM');
  await until(() => existsSync(path.join(cwd, 'came')), 'the signal');
  writeFileSync(path.join(cwd, 'go'), '');
  // this listener keeps some runtimes running
  await program.prints(/handleStop/);
  t.regex(program.out, /started\n/);
});

inEach('one signal stops all servers that asked for it, of whatever kind', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { createGateway, start } from '${PACKAGE}';
     import { createApp } from '${APP}';
     import { createSplice } from '${SPLICE}';
     const bind = '127.0.0.1:0';
     const stopOnSignals = true;
     const one = await start({ bind, handlers: { handleTextMessage() {} }, stopOnSignals });
     const two = await createGateway().start({ bind, handlers: {} });
     two.stopOnSignals();
     const app = createApp().listen({ bind, stopOnSignals });
     const other = createApp().listen(0, '127.0.0.1');
     other.stopOnSignals();
     const splices = [await createSplice({ bind, stopOnSignals }), await createSplice({ bind })];
     splices[1].stopOnSignals();
     await Promise.all([app.ready, other.ready]);
     Promise.all([one, two, app, other, ...splices].map(({ stopped }) => stopped)).then(() => console.log('all stopped'));
     ${listening('one')}`,
  );
  await program.address();
  program.signal('SIGTERM');
  t.is(await program.exit(), 0, program.err);
  t.regex(program.out, /all stopped\n$/);
});

inEach('signals are left alone when no server wants them any more', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { start } from '${PACKAGE}';
     const handlers = { handleTextMessage() {} };
     const server = await start({ bind: '127.0.0.1:0', handlers, stopOnSignals: true });
     await server.stop();
     await start({ bind: 'nonsense', handlers, stopOnSignals: true }).catch((error) => console.log(error.name));
     setInterval(() => {}, 1000);
     console.log('ready');`,
  );
  await program.prints(/TypeError\n[\s\S]*ready/);
  program.signal('SIGTERM');
  t.is(await program.exit(), 'SIGTERM');
});

inEach('how long outboxes have may be said', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { start } from '${PACKAGE}';
     const handlers = { handleTextMessage() {} };
     const server = await start({ bind: '127.0.0.1:0', handlers, stopOnSignals: { drain: 0 } });
     let began;
     process.on('SIGTERM', () => {
       began = performance.now();
     });
     server.stopped.then(() => {
       console.log('after ' + (performance.now() - began) + ' ms');
       process.exit(0);
     });
     ${listening()}`,
  );
  const client = await connect(t, await program.address());
  // it does not answer the Close frame, for which it would have five seconds
  client.pause();
  program.signal('SIGTERM');
  const [, ms] = await program.prints(/after (\S+) ms/);
  t.true(Number(ms) < 4500, `${ms} ms`);
});

test('stopOnSignals must be true, false or options of stop', async (t) => {
  const { start } = await import(PACKAGE);
  const start1 = (stopOnSignals) => start({ bind: '127.0.0.1:0', handlers: {}, stopOnSignals });
  for (const [value, message] of [
    ['yes', 'options.stopOnSignals must be true, false or an object such as { drain: 10000 }, not "yes"'],
    [{ drain: -1 }, 'options.stopOnSignals.drain must be a whole number from 0 to 86400000, not -1'],
    [{ time: 1 }, 'unknown option options.stopOnSignals.time'],
  ]) {
    await t.throwsAsync(start1(value), { instanceOf: TypeError, message });
  }
});
