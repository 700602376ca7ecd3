// The TypeScript example: it compiles as it is, and not with what its types forbid, and what is compiled runs.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';

import { Example, ended } from '../support/example.mjs';
import { ROOT } from '../support/markdown.mjs';
import { endWith, removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const TSC = path.join(ROOT, 'node_modules/typescript/bin/tsc');

/** A copy of the project; its packages are links, as `npm install` leaves them for a folder. */
function project(t) {
  const folder = removeWith(t, mkdtempSync(path.join(os.tmpdir(), 'millrace-typescript-')));
  for (const name of ['package.json', 'tsconfig.json', 'src']) {
    cpSync(path.join(ROOT, 'examples/typescript', name), path.join(folder, name), { recursive: true });
  }
  const { dependencies, devDependencies } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  t.is(path.resolve(ROOT, 'examples/typescript', dependencies.millrace.slice('file:'.length)), path.resolve(ROOT));
  const sources = { millrace: ROOT, 'undici-types': path.join(ROOT, 'node_modules/undici-types') };
  for (const name of Object.keys(devDependencies)) sources[name] = path.join(ROOT, 'node_modules', name);
  for (const [name, source] of Object.entries(sources)) {
    const place = path.join(folder, 'node_modules', name);
    mkdirSync(path.dirname(place), { recursive: true });
    symlinkSync(source, place, 'junction');
  }
  return folder;
}

async function tsc(t, cwd, ...args) {
  const child = spawn(process.execPath, [TSC, ...args], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, code] = await Promise.all([text(child.stdout), endWith(t, child)]);
  return { code, output };
}

test('it compiles and runs', async (t) => {
  const folder = project(t);
  t.deepEqual(await tsc(t, folder), { code: 0, output: '' });
  const server = await Example.start(path.join(folder, 'dist/server.js'), [], { PORT: '0' });
  t.teardown(() => server.kill());
  const ask = async (where, body) => {
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await fetch(`${server.url}${where}`, { method, headers, body: JSON.stringify(body) });
    return { status: answer.status, text: await answer.text() };
  };
  t.deepEqual(await ask('/rooms'), { status: 200, text: '["lobby","kitchen"]' });
  const anna = await connect(t, server.address, { path: '/rooms/lobby?name=Anna' });
  const guest = await connect(t, server.address, { path: '/rooms/lobby' });
  const cook = await connect(t, server.address, { path: '/rooms/kitchen' });
  anna.send('hello');
  for (const client of [anna, guest]) t.deepEqual(await client.json(), { from: 'Anna', text: 'hello' });
  guest.send('hi');
  for (const client of [anna, guest]) t.deepEqual(await client.json(), { from: 'guest', text: 'hi' });
  const message = { from: 'curl', text: 'soup' };
  t.deepEqual(await ask('/rooms/kitchen/messages', message), { status: 201, text: '{"heard":1}' });
  t.deepEqual(await cook.json(), message);
  t.is((await ask('/rooms/kitchen/messages', { from: 'curl' })).status, 400);
  t.is((await ask('/rooms/cellar/messages', message)).status, 404);
  t.is((await t.throwsAsync(connect(t, server.address, { path: '/rooms/cellar' }))).status, 404);
  t.is(await server.end(), ended());
});

test('what its types forbid does not compile', async (t) => {
  const folder = project(t);
  const forbidden = [
    ['worker.ts', 'const { room } = req.params', 'const { rom: room } = req.params', "Property 'rom' does not exist"],
    ['worker.ts', 'rooms = arg.rooms', 'rooms = arg.names', "Property 'names' does not exist"],
    ['worker.ts', 'from: member.name', 'from: member.nick', "Property 'nick' does not exist"],
    ['server.ts', "rooms: ['lobby', 'kitchen']", 'rooms: 2', "Type 'number' is not assignable to type 'string[]'"],
  ];
  for (const [file, right, wrong] of forbidden) {
    const place = path.join(folder, 'src', file);
    const source = readFileSync(place, 'utf8');
    t.true(source.includes(right), right);
    writeFileSync(place, source.replace(right, wrong));
  }
  const { code, output } = await tsc(t, folder, '--noEmit');
  t.not(code, 0);
  for (const [, , wrong, says] of forbidden) t.true(output.includes(says), `${wrong}\n${output}`);
  t.is(output.match(/error TS/g).length, forbidden.length, output);
});
