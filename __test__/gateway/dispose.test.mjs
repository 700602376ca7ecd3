// `await using` with every kind of server, by calling Symbol.asyncDispose: a program in every runtime, which then ends
// by itself.
import path from 'node:path';
import test from 'ava';

import { folderWith, Millrace, PACKAGE } from '../support/cli.mjs';
import { needingRuntime } from '../support/runtimes.mjs';

const from = (name) => PACKAGE.replace('index.mjs', `${name}.mjs`);

const PROGRAM = `
import net from 'node:net';
import { createGateway, start } from '${PACKAGE}';
import { createApp } from '${from('http')}';
import { createServer as createSockety } from '${from('sockety')}';
import { createSplice } from '${from('splice')}';
import { createServer } from '${from('tcp')}';

const bind = '127.0.0.1:0';
const handlers = { handleTextMessage() {} };
const portOf = ({ addresses: [address] }) => Number(address.split(':')[1]);

/** Whether a connection is accepted: by another socket, as a client may be given the port itself and then connects to itself. */
const accepts = (port) =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(socket.localPort !== port));
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
  });

async function dispose(name, server, port) {
  const before = await accepts(port);
  const result = await server[Symbol.asyncDispose]();
  console.log(name, before, result, await accepts(port));
  await server[Symbol.asyncDispose]();
}

const server = await start({ bind, handlers });
await dispose('start', server, portOf(server));
const own = await createGateway().start({ bind, handlers });
await dispose('gateway', own, portOf(own));
const app = await createApp().listen(0, '127.0.0.1').ready;
await dispose('app', app, portOf(app));
const splice = await createSplice({ bind });
await dispose('splice', splice, portOf(splice));
const tcp = await createServer().listen(0, '127.0.0.1');
await dispose('tcp', tcp, tcp.port);
const sockety = await createSockety().listen(0, '127.0.0.1');
await dispose('sockety', sockety, sockety.address().port);
`;

for (const runtime of ['node', 'bun', 'deno']) {
  needingRuntime(test, runtime)(
    `${runtime}: a server that is disposed of is closed, with its connections`,
    async (t) => {
      const cwd = folderWith(t, { 'main.mjs': PROGRAM });
      const program = new Millrace(t, [], { runtime, cwd, program: path.join(cwd, 'main.mjs') });
      t.is(await program.exit(), 0, program.err);
      const names = ['start', 'gateway', 'app', 'splice', 'tcp', 'sockety'];
      t.deepEqual(
        program.out.trim().split('\n'),
        names.map((name) => `${name} true undefined false`),
        program.err,
      );
    },
  );
}
