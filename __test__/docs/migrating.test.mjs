// The migration guides: servers that are said to do the same do it, and so do the clients.
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { WebSocket } from 'ws';

import { until, within } from '../support/deadline.mjs';
import { Example } from '../support/example.mjs';
import { handshake } from '../support/http.mjs';
import { fileOf, ROOT } from '../support/markdown.mjs';
import { freePort } from '../support/ports.mjs';
import { removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

/** As browsers have it, and Node from 22 on: an error that nobody listens to is nothing. */
class BrowserSocket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols);
    this.on('error', () => {});
  }
}

/** Writes files of a page into a folder in which `millrace` and `ws` are installed. */
async function unpack(t, page, names) {
  await mkdir(path.join(ROOT, 'target'), { recursive: true });
  const folder = removeWith(t, await mkdtemp(path.join(ROOT, 'target', 'migrating-')));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(ROOT, path.join(folder, 'node_modules', 'millrace'), 'junction');
  await symlink(path.join(ROOT, 'node_modules', 'ws'), path.join(folder, 'node_modules', 'ws'), 'junction');
  await writeFile(path.join(folder, 'package.json'), '{"dependencies":{"millrace":"*","ws":"*"}}');
  for (const name of names) await writeFile(path.join(folder, name), await fileOf(page, name));
  return folder;
}

/** Runs a program that prints its port; `address` is where it listens. */
async function startProgram(t, script, port = 0) {
  const program = await Example.start(script, [], { PORT: String(port) }, /^listening on .*?(\d+)\n/m);
  t.teardown(() => program.kill());
  return { program, port: program.url, address: `127.0.0.1:${program.url}` };
}

for (const script of ['with-ws.mjs', 'server.mjs']) {
  test(`from ws: ${script}`, async (t) => {
    const folder = await unpack(t, 'docs/migrating-from-ws.md', ['with-ws.mjs', 'server.mjs', 'worker.mjs']);
    const { address } = await startProgram(t, path.join(folder, script));
    const anna = await connect(t, address, { path: '/?name=anna' });
    const ben = await connect(t, address, { path: '/?name=ben' });
    const unnamed = await connect(t, address);
    anna.send(Buffer.from('ignored'));
    anna.send('hello');
    t.is(await ben.text(), 'anna: hello');
    t.is(await unnamed.text(), 'anna: hello');
    ben.send('good day');
    t.is(await anna.text(), 'ben: good day', 'nobody hears oneself');
    unnamed.close(1000);
    t.is((await unnamed.closed()).code, 1000);
    t.is(await anna.text(), 'somebody left');
  });
}

test('from Socket.IO: events, answers, rooms, and a client that comes back', async (t) => {
  const folder = await unpack(t, 'docs/migrating-from-socket-io.md', ['server.mjs', 'worker.mjs', 'client.mjs']);
  // of its own, because another one might be taken while it is started again
  const { program, port, address } = await startProgram(t, path.join(folder, 'server.mjs'), await freePort());
  const refusal = await handshake(address);
  t.is(refusal.status, 401);
  t.is(refusal.body, 'say who you are');

  globalThis.WebSocket ??= BrowserSocket;
  const { connect: join } = await import(pathToFileURL(path.join(folder, 'client.mjs')));
  const enter = (name) => {
    const events = [];
    const client = join(`ws://${address}/?name=${name}`, ({ event, data }) => events.push([event, data]));
    t.teardown(() => client.close());
    return { events, client };
  };
  const [anna, ben] = [enter('anna'), enter('ben')];
  const say = (body) => within(anna.client.ask('say', { room: 'mill', body }), 'the answer');
  ben.client.enter('mill');
  const isHeard = async () => {
    t.is(await say('hello'), 'sent');
    return ben.events.length > 0;
  };
  await until(isHeard, 'the event');
  t.deepEqual(ben.events[0], ['said', { name: 'anna', body: 'hello' }]);
  t.deepEqual(anna.events, []);

  await program.end();
  await startProgram(t, path.join(folder, 'server.mjs'), port);
  const hasHeard = async () => {
    // what is asked when the connection is lost is rejected
    await say('anyone?').catch(() => {});
    return ben.events.some(([, { body }]) => body === 'anyone?');
  };
  await until(hasHeard, 'ben to come back to the room');
  await t.throwsAsync(within(anna.client.ask('nothing'), 'the rejection'), { code: 'not_found' });
  ben.client.close();
  await until(() => anna.events.length === 1, 'the event');
  t.deepEqual(anna.events, [['left', 'ben']]);
});
