// The deployment guide: its server behind a real nginx with its configuration, its systemd unit as systemd reads it, and
// what the Dockerfile puts into the image.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { promisify } from 'node:util';
import test from 'ava';
import { WebSocket } from 'ws';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { join } from '../support/chatter.mjs';
import { again, SOON, within } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { blocksOf, fileOf, ROOT } from '../support/markdown.mjs';
import { needing } from '../support/needing.mjs';
import { freePort } from '../support/ports.mjs';
import { exitOf, removeWith } from '../support/teardown.mjs';

const run = promisify(execFile);
const PAGE = 'docs/deployment.md';
const LISTENING = /^listening on (\S+)\n/m;

/** A folder of its own, in which `millrace` is installed. */
async function folderFor(t) {
  await mkdir(path.join(ROOT, 'target'), { recursive: true });
  const folder = removeWith(t, await mkdtemp(path.join(ROOT, 'target', 'deploy-')));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(ROOT, path.join(folder, 'node_modules', 'millrace'), 'junction');
  await writeFile(path.join(folder, 'package.json'), '{"dependencies":{"millrace":"*"}}');
  return folder;
}

/** The guide's server, on an address of the test's. */
async function startServer(t, folder, bind) {
  for (const name of ['server.mjs', 'worker.mjs']) await writeFile(path.join(folder, name), await fileOf(PAGE, name));
  const health = await freePort();
  const env = { BIND: bind, HEALTH_PORT: String(health) };
  const server = await Example.start(path.join(folder, 'server.mjs'), [], env, LISTENING);
  t.teardown(() => server.kill());
  return { server, health: `http://127.0.0.1:${health}/` };
}

/** nginx with the guide's configuration, on a unix socket instead of a port; resolves with that socket's path. */
async function startNginx(t, folder, upstream) {
  const [key, certificate, front] = ['key.pem', 'certificate.pem', 'front.sock'].map((name) => path.join(folder, name));
  const subject = ['-subj', '/CN=example.org', '-days', '2', '-keyout', key, '-out', certificate];
  await run(toolPath('openssl'), ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject]);
  const [block] = (await blocksOf(PAGE)).filter(({ language }) => language === 'nginx');
  const site = replaced(t, block.code, [
    ['listen 443 ssl', `listen unix:${front} ssl`],
    ['/etc/ssl/example.org.pem', certificate],
    ['/etc/ssl/example.org.key', key],
    ['server 127.0.0.1:8080;', `server ${upstream};`],
  ]);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/tmp;`);
  const file = path.join(folder, 'nginx.conf');
  // As root nginx would give its workers to a user who cannot enter the folder.
  const user = process.getuid() === 0 ? 'user root;' : '';
  const http = `events {}\nhttp {\naccess_log off;\n${places.join('\n')}\n${site}}\n`;
  await writeFile(file, `${user} daemon off;\npid ${folder}/nginx.pid;\nerror_log stderr;\n${http}`);
  const args = ['-c', file, '-p', folder, '-e', 'stderr'];
  const { stderr } = await run(toolPath('nginx'), [...args, '-t']);
  t.regex(stderr, /test is successful/);
  t.notRegex(stderr, /\[(warn|error|emerg)\]/);
  const nginx = spawn(toolPath('nginx'), args, { stdio: 'ignore' });
  const exited = exitOf(nginx);
  t.teardown(async () => {
    nginx.kill('SIGTERM');
    await exited;
  });
  // its socket is there before it listens on it
  await again(() => reached(front), 'nginx to listen');
  return front;
}

/** Connects to a unix socket once; rejects when nobody listens on it. */
async function reached(file) {
  const socket = net.connect(file);
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

function replaced(t, text, replacements) {
  return replacements.reduce((result, [from, to]) => {
    t.true(result.includes(from), `${PAGE} has ${from}`);
    return result.replace(from, to);
  }, text);
}

/** A browser's connection through nginx. */
function browser(t, front, headers = {}) {
  const client = new WebSocket('wss://example.org/ws', {
    createConnection: () => tls.connect({ path: front, servername: 'example.org', rejectUnauthorized: false }),
    headers: { Host: 'example.org', Origin: 'https://example.org', ...headers },
  });
  client.on('error', () => {});
  t.teardown(() => client.terminate());
  return client;
}

for (const kind of ['a port', 'a unix socket']) {
  needing(
    test,
    'nginx',
    'openssl',
  )(`the server behind nginx, on ${kind}`, async (t) => {
    const folder = await folderFor(t);
    const bind = kind === 'a port' ? '127.0.0.1:0' : `unix:${folder}/millrace.sock`;
    const { server, health } = await startServer(t, folder, bind);
    const front = await startNginx(t, folder, server.url);

    const [one, two] = [browser(t, front, { 'X-Forwarded-For': '192.0.2.1' }), browser(t, front)];
    await within(Promise.all([once(one, 'open'), once(two, 'open')]), 'both to connect');
    const received = once(two, 'message');
    one.send('hello');
    const [message] = await within(received, 'the message');
    // nginx saw none itself
    const ip = kind === 'a port' ? '127.0.0.1' : '';
    t.is(String(message), `${ip}: hello`, 'an address that a client claims is not believed');

    const elsewhere = browser(t, front, { Origin: 'https://elsewhere.example' });
    const [, refusal] = await within(once(elsewhere, 'unexpected-response'), 'the refusal');
    t.is(refusal.statusCode, 403);
    refusal.resume();

    const stats = await (await fetch(`${health}stats`)).json();
    t.is(stats.sockets, 2);
    t.is((await fetch(`${health}ready`)).status, 200);

    const closed = [once(one, 'close'), once(two, 'close')];
    t.is(await server.end('SIGTERM'), 0);
    for (const [code] of await within(Promise.all(closed), 'both to be told')) t.is(code, 1001);
  });
}

needing(test, 'systemd-analyze')('systemd accepts the unit', async (t) => {
  const [block] = (await blocksOf(PAGE)).filter(({ language }) => language === 'ini');
  const folder = await folderFor(t);
  const unit = path.join(folder, path.basename(block.code.split('\n')[0]));
  const verify = () =>
    run(toolPath('systemd-analyze'), ['verify', '--man=no', unit], { env: { ...process.env, LC_ALL: 'C' } });
  const code = replaced(t, block.code, [['/usr/bin/node', process.execPath]]);
  await writeFile(unit, code);
  const { stdout, stderr } = await verify();
  t.is(stdout + stderr, '');
  await writeFile(unit, code.replace('RestartSec=1s', 'RestartSec=soon'));
  t.regex((await verify()).stderr, /Failed to parse/);
});

test('the image has what the example needs', async (t) => {
  const dockerfile = (await readFile(path.join(ROOT, 'Dockerfile'), 'utf8')).replaceAll(/\\\n\s*/g, '');
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  await mkdir(path.join(ROOT, 'target'), { recursive: true });
  const folder = removeWith(t, await mkdtemp(path.join(ROOT, 'target', 'image-')));
  const copies = [...last.matchAll(/^COPY --from=build \/build\/(\S+) (\S+)$/gm)];
  t.true(copies.length > 2);
  for (const [, from, to] of copies) {
    const target = path.join(folder, to.endsWith('/') ? `${to}${path.basename(from)}` : to);
    await cp(path.join(ROOT, from), target, { recursive: true });
  }
  const [program, script, ...args] = JSON.parse(/^CMD (.*)$/m.exec(last)[1]);
  t.is(program, 'node');
  const env = { NODE_ENV: 'production' };
  const example = await Example.start(path.join(folder, script), [...args, '--port', '0'], env);
  t.teardown(() => example.kill());
  const anna = await join(t, example.address, 'mill', 'Anna');
  t.deepEqual(await anna.names(), ['Anna']);
  t.is((await fetch(`${example.url}/client.mjs`)).status, 200);

  const [, , look] = JSON.parse(/HEALTHCHECK .*?CMD (.*)$/m.exec(last)[1]);
  const ask = (port) => run(process.execPath, ['-e', look.replace('3000', port)], { timeout: SOON });
  await t.notThrowsAsync(ask(example.port));
  t.is(await example.end('SIGTERM'), ended('SIGTERM'));
  await t.throwsAsync(ask(example.port));
});
