// `stopOnSignals`: programs as users write them, in every runtime, which only a signal ends.
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import test from 'ava';

import { folderWith, Millrace, PACKAGE } from '../support/cli.mjs';
import { until, within } from '../support/deadline.mjs';
import { connect as connectSockety } from '../support/millrace-sockety.mjs';
import { signalTests } from '../support/platforms.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { connect } from '../support/ws-client.mjs';

const APP = PACKAGE.replace('index.mjs', 'http.mjs');
const SPLICE = PACKAGE.replace('index.mjs', 'splice.mjs');
const TCP = PACKAGE.replace('index.mjs', 'tcp.mjs');
const SOCKETY = PACKAGE.replace('index.mjs', 'sockety.mjs');

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

inEach('a signal closes connections one after the other, if it is told to', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { start } from '${PACKAGE}';
     const handlers = { handleClose: (id, token, code, reason) => console.log('handleClose ' + code + ' ' + reason) };
     const stopOnSignals = { spread: 600, drain: 10_000, code: 3999 };
     const server = await start({ bind: '127.0.0.1:0', handlers, ioThreads: 1, stopOnSignals });
     ${listening()}`,
  );
  const address = await program.address();
  const clients = [await connect(t, address), await connect(t, address)];
  const began = performance.now();
  program.signal('SIGTERM');
  for (const [index, client] of clients.entries()) {
    await client.closed();
    t.true(performance.now() - began >= 300 * (index + 1) - 2);
    t.is(client.closeFrame.code, 3999);
  }
  t.is(await program.exit(), 0, program.err);
  t.is(program.out.match(/handleClose 3999 retry=1\d{3}\n/g).length, 2);
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

inEach('a signal closes TCP and Sockety servers and their connections', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { createServer as createSockety } from '${SOCKETY}';
     import { createServer } from '${TCP}';
     const tcp = createServer({ stopOnSignals: true });
     tcp.onConnection = (connection) => connection.write('hello');
     tcp.onClose = () => console.log('TCP connection closed');
     const sockety = createSockety((connection) => {
       connection.on('close', () => console.log('Sockety connection closed'));
       console.log('both connected');
     });
     sockety.stopOnSignals();
     await tcp.listen(0, '127.0.0.1');
     // signals apply to a server that listens again, too
     await tcp.close();
     await tcp.listen(0, '127.0.0.1');
     await sockety.listen(0, '127.0.0.1');
     tcp.stopped.then(() => console.log('TCP stopped', tcp.listening, tcp.connections.size));
     sockety.stopped.then(() => console.log('Sockety stopped', sockety.listening, sockety.clients.length));
     console.log('ports ' + tcp.port + ' ' + sockety.address().port);`,
  );
  const [, ...ports] = await program.prints(/ports (\d+) (\d+)\n/);
  const socket = net.connect(Number(ports[0]), '127.0.0.1');
  t.teardown(() => socket.destroy());
  t.is(String((await within(once(socket, 'data'), 'data'))[0]), 'hello');
  const client = connectSockety({ port: Number(ports[1]), host: '127.0.0.1' });
  t.teardown(() => client.close(true));
  await program.prints(/both connected/);
  const ends = Promise.all([once(socket, 'close'), once(client, 'close')]);
  program.signal('SIGTERM');
  await within(ends, 'the ends of the connections');
  t.is(await program.exit(), 0, program.err);
  const lines = program.out.split('\n');
  t.true(lines.indexOf('TCP connection closed') < lines.indexOf('TCP stopped false 0'), program.out);
  t.true(lines.indexOf('Sockety connection closed') < lines.indexOf('Sockety stopped false 0'), program.out);
  t.is(program.err, '');
});

inEach('a signal cuts connections of TCP and Sockety servers after the given time', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { createServer as createSockety, Draft } from '${SOCKETY}';
     import { createServer } from '${TCP}';
     // the servers with more time come first: with equal times, they would also be the first to stop
     const servers = [['later', 1000], ['at once', 0]].flatMap(([name, drain]) => {
       const tcp = createServer({ stopOnSignals: { drain } });
       let timer;
       const fill = (connection) => {
         while (connection.write(Buffer.alloc(65_536)) > 0);
         // the kernel takes no more when there was no room for this long
         clearTimeout(timer);
         timer = setTimeout(() => console.log('+'), 500);
       };
       Object.assign(tcp, { onConnection: fill, onDrain: fill });
       const sockety = createSockety((connection) => {
         connection.on('error', () => {});
         // the stream has no end
         connection.send(Draft.for('endless').stream()());
         console.log('+');
       });
       sockety.stopOnSignals({ drain });
       return [['TCP ' + name, tcp], ['Sockety ' + name, sockety]];
     });
     for (const [name, server] of servers) {
       await server.listen(0, '127.0.0.1');
       server.stopped.then(() => console.log(name));
     }
     console.log('ports ' + servers.map(([, server]) => server.address().port).join(' '));`,
  );
  const [, ...ports] = (await program.prints(/ports( \d+){4}\n/))[0].trim().split(' ').map(Number);
  for (const [at, port] of ports.entries()) {
    if (at % 2 === 0) {
      const socket = net
        .connect(port, '127.0.0.1')
        .on('error', () => {})
        .pause();
      t.teardown(() => socket.destroy());
    } else {
      const client = connectSockety({ port, host: '127.0.0.1' }).on('error', () => {});
      client.on('message', () => {});
      t.teardown(() => client.close(true));
    }
  }
  await program.prints(/(\+\n){4}/);
  program.signal('SIGTERM');
  t.is(await program.exit(), 0, program.err);
  const stopped = program.out.split('\n').filter((line) => line.includes(' '));
  for (const kind of ['TCP', 'Sockety']) {
    t.true(stopped.indexOf(`${kind} at once`) > 0, program.out);
    t.true(stopped.indexOf(`${kind} at once`) < stopped.indexOf(`${kind} later`), program.out);
  }
});

inEach('a TCP or Sockety server that cannot listen leaves signals alone', async (t, runtime) => {
  const { program } = run(
    t,
    runtime,
    `import { createServer as createSockety } from '${SOCKETY}';
     import { createServer } from '${TCP}';
     const one = await createServer().listen(0, '127.0.0.1');
     for (const create of [createServer, createSockety]) {
       const server = create({ stopOnSignals: true });
       await server.listen(one.port, '127.0.0.1').catch((error) => console.log(error.code));
       await server.stopped;
     }
     const aborted = createSockety({ stopOnSignals: true });
     await aborted.listen({ port: 0, signal: AbortSignal.abort() }).catch((error) => console.log(error.name));
     await aborted.stopped;
     console.log('ready');`,
  );
  await program.prints(/(ERR_MILLRACE_ADDRESS_IN_USE\n){2}AbortError\nready/);
  program.signal('SIGTERM');
  t.is(await program.exit(), 'SIGTERM');
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
    for (const name of ['tcp', 'sockety']) {
      const { createServer } = await import(PACKAGE.replace('index.mjs', `${name}.mjs`));
      t.throws(() => createServer({ stopOnSignals: value }), { instanceOf: TypeError, message });
      t.throws(() => createServer().stopOnSignals({ drain: -1 }), { instanceOf: TypeError, message: /options\.drain/ });
    }
  }
});
