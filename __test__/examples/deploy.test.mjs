// examples/deploy: its server with probes, a real Caddy in front, what its image has, and what the files around it must say. And the
// dashboard, whose metrics are those that the server has.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { WebSocket } from 'ws';
import { parseAllDocuments } from 'yaml';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { again, SOON, within } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { blocksOf, ROOT } from '../support/markdown.mjs';
import { createGateway } from '../support/millrace.mjs';
import { needing } from '../support/needing.mjs';
import { signalTests } from '../support/platforms.mjs';
import { freePort } from '../support/ports.mjs';
import { exitOf, removeWith } from '../support/teardown.mjs';

const run = promisify(execFile);
const FOLDER = path.join(ROOT, 'examples/deploy');
const LISTENING = /^listening on (\S+), probes and metrics on \S+\n/m;
/** What the server needs at most to end: its drain, and as much for what its handlers do. */
const ENDING_S = 10 + 5;

const read = (name) => readFile(path.join(FOLDER, name), 'utf8');

/** The files of a YAML file's documents, without anything that the parser objects to. */
async function yaml(t, name) {
  const documents = parseAllDocuments(await read(name), { strict: true, uniqueKeys: true });
  for (const { errors, warnings } of documents) t.deepEqual([...errors, ...warnings], [], name);
  return documents.map((document) => document.toJS());
}

/** The image's folder, as the last stage of the Dockerfile fills it. */
async function image(t) {
  const stages = (await read('Dockerfile'))
    .replaceAll(/\\\n\s*/g, '')
    .split(/^(?=FROM )/m)
    .slice(1);
  const last = stages.at(-1);
  await mkdir(path.join(ROOT, 'target'), { recursive: true });
  const folder = removeWith(t, await mkdtemp(path.join(ROOT, 'target', 'deployed-')));
  const [, names] = /^COPY ((?:\S+ )+)\.\/$/m.exec(last);
  for (const name of names.trim().split(' ')) await cp(path.join(FOLDER, name), path.join(folder, name));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(ROOT, path.join(folder, 'node_modules/millrace'), 'junction');
  return { stages, last, folder };
}

/** The server of the image, with the image's command. */
async function deployed(t, env = {}) {
  const { folder, last } = await image(t);
  const [program, script] = JSON.parse(/^CMD (.*)$/m.exec(last)[1]);
  t.is(program, 'node');
  const admin = await freePort();
  const places = { BIND: '127.0.0.1:0', ADMIN: `127.0.0.1:${admin}` };
  const server = await Example.start(path.join(folder, script), [], { ...places, ...env }, LISTENING);
  t.teardown(() => server.kill());
  return { server, last, admin };
}

function browser(t, address, headers) {
  const client = new WebSocket(`ws://${address}/ws`, { headers });
  client.on('error', () => {});
  t.teardown(() => client.terminate());
  return client;
}

signalTests(test)('the image: two stages, not root, a health check, and an orderly end', async (t) => {
  const { stages, last } = await image(t);
  t.is(stages.length, 2);
  t.true(stages.every((stage) => /^FROM node:\d+-bookworm-slim( AS \w+)?\n/.test(stage)));
  t.regex(stages[0], /^RUN npm ci --omit=dev /m);
  t.notRegex(last, /^(RUN|ADD) /m);
  t.regex(last, /^USER node$/m);
  t.regex(last, /^STOPSIGNAL SIGTERM$/m);

  const { server, admin } = await deployed(t);
  const [, look] = /HEALTHCHECK .*? CMD (\[.*\])$/m.exec(last);
  const [, ...args] = JSON.parse(look.replace('9100', admin));
  const healthy = () => run(process.execPath, args, { timeout: SOON });
  await t.notThrowsAsync(healthy());
  const client = browser(t, server.url);
  await within(once(client, 'open'), 'the connection');
  const closed = once(client, 'close');
  t.is(await server.end('SIGTERM'), ended('SIGTERM'));
  t.is((await within(closed, 'the goodbye'))[0], 1001);
  await t.throwsAsync(healthy());
});

test('the image copies what the project has, and nothing that .dockerignore leaves out', async (t) => {
  const { last } = await image(t);
  const ignored = (await read('.dockerignore')).trim().split('\n');
  const [, names] = /^COPY ((?:\S+ )+)\.\/$/m.exec(last);
  t.deepEqual(
    names.split(' ').filter((name) => ignored.includes(name)),
    [],
  );
});

test('probes and metrics are where the manifests look for them', async (t) => {
  const { admin } = await deployed(t);
  const [deployment, service, budget] = await yaml(t, 'kubernetes/chat.yaml');
  t.deepEqual([deployment.kind, service.kind, budget.kind], ['Deployment', 'Service', 'PodDisruptionBudget']);
  const { template, selector } = deployment.spec;
  t.deepEqual(template.metadata.labels, selector.matchLabels);
  t.deepEqual(service.spec.selector, selector.matchLabels);
  t.deepEqual(budget.spec.selector, selector);
  const [container] = template.spec.containers;
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]));
  const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
  t.is(env.BIND, `:${ports.http}`);
  t.is(env.ADMIN, `:${ports.admin}`);
  t.is(service.spec.ports[0].targetPort, 'http');
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    const { httpGet } = container[probe];
    t.is(httpGet.port, 'admin');
    t.is((await fetch(`http://127.0.0.1:${admin}${httpGet.path}`)).status, 200, probe);
  }
  const annotations = template.metadata.annotations;
  t.is(annotations['prometheus.io/port'], String(ports.admin));
  t.is((await fetch(`http://127.0.0.1:${admin}${annotations['prometheus.io/path']}`)).status, 200);
});

test('what ends the server waits longer than it drains', async (t) => {
  t.regex(await read('server.mjs'), /drain: 10_000/);
  const [{ spec }] = await yaml(t, 'kubernetes/chat.yaml');
  const { terminationGracePeriodSeconds: grace, containers } = spec.template.spec;
  const [, wait] = containers[0].lifecycle.preStop.exec.command;
  const spread = containers[0].env.find(({ name }) => name === 'SPREAD').value;
  t.true(grace >= Number(wait) + Number(spread) / 1000 + ENDING_S, `${grace} s`);
  const { apps } = createRequire(import.meta.url)(path.join(FOLDER, 'ecosystem.config.cjs'));
  for (const app of apps) {
    t.deepEqual([app.exec_mode, app.instances], ['fork', 1]);
    t.true(app.kill_timeout >= ENDING_S * 1000);
    await t.notThrowsAsync(read(app.script));
  }
  const [, stop] = /^TimeoutStopSec=(\d+)s$/m.exec(await read('chat.service'));
  t.true(Number(stop) >= ENDING_S);
});

test('the autoscaler goes by a metric that the server has', async (t) => {
  const [scaler, rules] = await yaml(t, 'kubernetes/autoscaling.yaml');
  const [deployment] = await yaml(t, 'kubernetes/chat.yaml');
  t.is(scaler.kind, 'HorizontalPodAutoscaler');
  t.is(scaler.spec.scaleTargetRef.name, deployment.metadata.name);
  const [{ pods }] = scaler.spec.metrics;
  t.true((await metricNames(t)).has(pods.metric.name));
  const [{ rules: inner }] = parseAllDocuments(rules.data['config.yaml']).map((document) => document.toJS());
  t.is(inner[0].name.as, pods.metric.name);
  t.true(inner[0].seriesQuery.startsWith(`${pods.metric.name}{`));
});

test('Traefik finds the server, its probe and its own parts', async (t) => {
  const [fixed] = await yaml(t, 'traefik/traefik.yaml');
  const [{ http }] = await yaml(t, 'traefik/chat.yaml');
  t.true(fixed.providers.file.filename.endsWith('/chat.yaml'));
  const { chat } = http.routers;
  for (const entry of chat.entryPoints) t.true(entry in fixed.entryPoints, entry);
  t.true(chat.tls.certResolver in fixed.certificatesResolvers);
  const { servers, healthCheck, passHostHeader } = http.services[chat.service].loadBalancer;
  t.true(passHostHeader);
  const { env } = createRequire(import.meta.url)(path.join(FOLDER, 'ecosystem.config.cjs')).apps[0];
  t.deepEqual(servers, [{ url: `http://${env.BIND}` }]);
  t.is(env.ADMIN, `127.0.0.1:${healthCheck.port}`);
  t.is(healthCheck.path, '/ready');
});

test('the files for nginx and systemd are those that the guide explains', async (t) => {
  const blocks = await blocksOf('docs/deployment.md');
  for (const [language, file] of [
    ['nginx', 'nginx.conf'],
    ['ini', 'chat.service'],
  ]) {
    t.is(await read(file), blocks.find((block) => block.language === language).code, file);
  }
});

/** Caddy with the example's configuration, on a port of its own and without TLS; resolves with its address. */
async function startCaddy(t, upstream) {
  const folder = removeWith(t, await mkdtemp(path.join(ROOT, 'target', 'caddy-')));
  const address = `127.0.0.1:${await freePort()}`;
  const file = path.join(folder, 'Caddyfile');
  const text = await read('Caddyfile');
  t.true(text.includes('\nexample.org {') && text.includes('127.0.0.1:8080'));
  const site = text.replace('\nexample.org {', `\nhttp://${address} {`).replace('127.0.0.1:8080', upstream);
  await writeFile(file, `{\n\tadmin off\n}\n${site}`);
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const args = ['--config', file, '--adapter', 'caddyfile'];
  await run(toolPath('caddy'), ['validate', ...args], { env });
  // as it is written, too
  await run(toolPath('caddy'), ['adapt', '--validate', '--config', path.join(FOLDER, 'Caddyfile')], { env });
  const caddy = spawn(toolPath('caddy'), ['run', ...args], { env, stdio: 'ignore' });
  const exited = exitOf(caddy);
  t.teardown(async () => {
    caddy.kill('SIGTERM');
    await exited;
  });
  await again(() => reached(address), 'Caddy to listen');
  return address;
}

async function reached(address) {
  const [host, port] = address.split(':');
  const socket = net.connect(Number(port), host);
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

needing(test, 'caddy')('the server behind Caddy', async (t) => {
  const { server } = await deployed(t, { ORIGINS: 'https://example.org' });
  const front = await startCaddy(t, server.url);
  const headers = { Origin: 'https://example.org' };
  const one = browser(t, front, { ...headers, 'X-Forwarded-For': '192.0.2.1' });
  const two = browser(t, front, headers);
  await within(Promise.all([once(one, 'open'), once(two, 'open')]), 'both to connect');
  const received = once(two, 'message');
  one.send('hello');
  const [message] = await within(received, 'the message');
  t.is(String(message), '127.0.0.1: hello', 'an address that a client claims is not believed');

  const elsewhere = browser(t, front, { Origin: 'https://elsewhere.example' });
  const [, refusal] = await within(once(elsewhere, 'unexpected-response'), 'the refusal');
  t.is(refusal.statusCode, 403);
  refusal.resume();

  const closed = [once(one, 'close'), once(two, 'close')];
  t.is(await server.end('SIGTERM'), 0);
  for (const [code] of await within(Promise.all(closed), 'both to be told')) t.is(code, 1001);
});

/** The names of all samples that a server with everything has. */
async function metricNames(t) {
  return new Set((await samples(t)).map(({ name }) => name));
}

async function samples(t) {
  const server = await createGateway().start({
    bind: '127.0.0.1:0',
    metrics: true,
    // nobody is there: its metrics are
    backplane: 'redis://127.0.0.1:1',
    handlers: { fetch: () => new Response('hello') },
    onError: () => {},
  });
  t.teardown(() => server.stop({ drain: 0 }));
  const text = await (await fetch(`http://${server.addresses[0]}/metrics`)).text();
  return [...text.matchAll(/^(millrace_\w+)(?:\{(.*)\})? /gm)].map(([, name, labels = '']) => ({
    name,
    labels: [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label),
  }));
}

/** What Prometheus and Kubernetes add to every sample. */
const ADDED = ['job', 'instance', 'le'];

test('the dashboard asks for metrics and labels that the server has', async (t) => {
  const { panels, templating } = JSON.parse(await readFile(path.join(ROOT, 'docs/grafana.json'), 'utf8'));
  const labels = new Map();
  for (const { name, labels: own } of await samples(t)) labels.set(name, [...(labels.get(name) ?? []), ...own]);
  const expressions = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
  t.true(expressions.length >= 20);
  for (const { title, expr } of expressions) {
    const asked = [...expr.matchAll(/\bmillrace_\w+/g)].map(([name]) => name);
    t.is(asked.length, 1, `${title}: ${expr}`);
    t.true(labels.has(asked[0]), `${title}: there is no ${asked[0]}`);
    const [, by = ''] = / by \(([^)]*)\)/.exec(expr) ?? [];
    for (const label of by.split(', ').filter((name) => name !== '' && !ADDED.includes(name))) {
      t.true(labels.get(asked[0]).includes(label), `${title}: ${asked[0]} has no label ${label}`);
    }
  }
  for (const { name, definition } of templating.list) {
    const [asked] = /\bmillrace_\w+/.exec(definition ?? '') ?? [];
    t.true(name === 'datasource' || labels.has(asked), name);
  }
  t.is(new Set(panels.map(({ id }) => id)).size, panels.length);
});
