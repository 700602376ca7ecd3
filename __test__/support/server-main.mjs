// Runs in the child process of support/server.mjs, in any runtime, and executes the requests of the control connection.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';

import { eachLine } from './lines.mjs';
import * as millrace from './millrace.mjs';
import { decode, encode } from './wire.mjs';

const gateways = new Map([['default', millrace]]);
const servers = new Map();
const errors = [];
let handles = 0;
/** The controller of the last call of `replaceWorkers`. */
let replacing;

function gatewayOf(name) {
  if (!gateways.has(name)) gateways.set(name, millrace.createGateway());
  return gateways.get(name);
}

/** The same function for every start, because later starts cannot change it. */
const onError = (error) => errors.push(reported(error));

/** The errors that onError got, as text: the message with that of its cause. */
function reported(error) {
  const cause = error?.cause === undefined ? '' : `, cause: ${String(error.cause?.message ?? error.cause)}`;
  const message = `${error?.message ?? error}${cause}`;
  return { name: error?.name, code: error?.code, message, causeCode: error?.cause?.code };
}

const operations = {
  async start({ gateway, options }) {
    const given = decode(options);
    const server = await gatewayOf(gateway).start(
      given.onError === null ? { ...given, onError: undefined } : { onError, ...given },
    );
    const handle = ++handles;
    servers.set(handle, server);
    return { addresses: server.addresses, handle };
  },
  async call({ gateway, fn, args }) {
    return encode(await gatewayOf(gateway)[fn](...decode(args)));
  },
  async stop({ handle, options }) {
    const server = servers.get(handle);
    await server.stop(decode(options));
  },
  reloadTls: ({ handle, tls }) => servers.get(handle).reloadTls(decode(tls)),
  replaceWorkers({ handle }) {
    replacing = new AbortController();
    return servers.get(handle).replaceWorkers({ signal: replacing.signal });
  },
  async abortReplacement({ reason, key }) {
    if (key !== undefined) {
      const workers = () => Object.keys(millrace.getDebugState('workers')).length;
      const before = workers();
      millrace.setKey(key, 'yes');
      // meanwhile this thread gets no events of the workers
      while (workers() === before);
    }
    replacing.abort(new Error(reason));
  },
  usage() {
    const status = readFileSync('/proc/self/status', 'utf8');
    const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)[1]);
    globalThis.gc?.();
    return { rss: field('VmRSS') * 1024, descriptors: readdirSync('/proc/self/fd').length, threads: field('Threads') };
  },
  errors: () => errors,
  block({ ms, file }) {
    const end = performance.now() + ms;
    while (performance.now() < end || (file !== undefined && !existsSync(file)));
    return true;
  },
  async run({ script, args }) {
    const module = await import(`./scripts/${script}.mjs`);
    return encode(await module.default(millrace, ...decode(args)));
  },
};

// Deno handles signals in a thread with two descriptors, which it makes some time after its start, or for the first
// listener. Made here, it is there before a test counts threads and descriptors.
if (globalThis.Deno) {
  const listener = () => {};
  globalThis.Deno.addSignalListener('SIGWINCH', listener);
  globalThis.Deno.removeSignalListener('SIGWINCH', listener);
}

const control = net.connect(Number(process.env.MILLRACE_TEST_CONTROL), '127.0.0.1');
let ending = false;

async function end() {
  ending = true;
  await Promise.all([...servers.values()].map((server) => server.stop({ drain: 0 })));
  // Nothing may keep the process alive now: otherwise the test reports that it does not exit.
  control.destroy();
}

control.on('error', () => process.exit(3));
control.on('close', () => {
  if (!ending) process.exit(3);
});
eachLine(control, async (line) => {
  const message = JSON.parse(line);
  if (message.op === 'end') {
    await end();
    return;
  }
  try {
    const value = await operations[message.op](message);
    control.write(`${JSON.stringify({ n: message.n, value })}\n`);
  } catch (error) {
    control.write(
      `${JSON.stringify({ n: message.n, error: encode(error instanceof Error ? error : new Error(String(error))) })}\n`,
    );
  }
});
