// A small multiplexer with wsplice's protocol and behaviour that a real one does not have: it can lose its connections,
// use other event names, and answer and relay in one segment. It has no limits and trusts all clients. Also targets for
// this multiplexer and for the real one.
import { once } from 'node:events';
import net from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

import { ownServer, worker } from './server.mjs';

const CONTROL = 0xffff;

/** Starts a server of `ws` for a test; `serve` gets each connection and its request. */
async function listen(t, options, serve) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, ...options });
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  server.on('connection', serve);
  await once(server, 'listening');
  return { server, url: `ws://127.0.0.1:${server.address().port}` };
}

/** A target that echoes; `more` gets each connection, too. `/hello` greets at once, `/bye` then closes with 4001. */
export async function echo(t, more) {
  const handleProtocols = (offered) => [...offered].at(-1);
  const { server, url } = await listen(t, { handleProtocols }, (socket, request) => {
    socket.on('error', () => undefined);
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    if (request.url !== '/') for (const text of ['hello', 'again']) socket.send(`${text} ${request.headers['x-name']}`);
    if (request.url === '/bye') socket.close(4001, 'bye');
    more?.(socket, request);
  });
  return { url, clients: server.clients, stop: () => server.close() };
}

/** Starts a multiplexer. `lose` cuts all its connections. */
export async function multiplexer(t, { closedName = 'onSocketDisconnect', firstIndex = 0 } = {}) {
  const calls = [];
  const { server, url } = await listen(t, {}, (client) => new Session(client, { closedName, firstIndex, calls }));
  const lose = () => {
    for (const client of server.clients) client.terminate();
  };
  return { url, calls, lose, clients: server.clients };
}

/** Starts a server with a splice listener, behind a relay; `lose` cuts the connections of the relay. */
export async function listener(t, { closedName } = {}) {
  const { addresses } = await ownServer(t, {
    workerPath: worker('text-only'),
    threads: 1,
    ioThreads: 1,
    bind: {
      address: '127.0.0.1:0',
      protocol: 'splice',
      privateTargets: true,
      origins: '*', // another server serves the page of a browser test
      limits: { targetsPerSession: 1000 },
      ...(closedName && { eventName: closedName }),
    },
  });
  const there = new URL(`tcp://${addresses[0]}`);
  const ends = new Set();
  const relay = net.createServer((here) => {
    const connection = net.connect(there.port, there.hostname);
    for (const [from, to] of [
      [here, connection],
      [connection, here],
    ]) {
      ends.add(from);
      from.on('error', () => undefined);
      from.on('close', () => ends.delete(from) && to.destroy());
      from.pipe(to);
    }
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const lose = () => {
    for (const end of ends) end.destroy();
  };
  t.teardown(() => {
    lose();
    relay.close();
  });
  return { url: `ws://127.0.0.1:${relay.address().port}`, lose };
}

class Session {
  #client;
  #options;
  #targets = new Map();

  constructor(client, options) {
    this.#client = client;
    this.#options = options;
    client.on('error', () => undefined);
    client.on('message', (data, isBinary) => this.#receive(data, isBinary));
    client.on('close', (code, reason) => {
      for (const { socket } of this.#targets.values()) {
        if (code === 1005 || code === 1006) socket.terminate();
        else socket.close(code, reason);
      }
    });
  }

  #receive(data, isBinary) {
    const index = data.readUInt16BE(0);
    if (index === CONTROL) this.#call(JSON.parse(data.subarray(2)));
    else if (this.#targets.has(index)) this.#targets.get(index).socket.send(data.subarray(2), { binary: isBinary });
    else this.#say({ id: 0, type: 'method', method: 'warn', params: { code: 4004, message: 'no such target' } });
  }

  #say(message) {
    this.#client.send(Buffer.concat([Buffer.from([0xff, 0xff]), Buffer.from(JSON.stringify(message))]));
  }

  #call({ id, method, params }) {
    this.#options.calls.push({ method, params });
    if (method === 'connect') this.#connect(id, params);
    else if (method === 'terminate') {
      this.#targets.get(params.index)?.socket.close(params.code ?? 1000, params.reason);
      this.#say({ id, type: 'reply', result: {} });
    }
  }

  #connect(id, { url, headers, subprotocols, webSocket }) {
    let index = this.#options.firstIndex;
    while (this.#targets.has(index) || (webSocket && this.#options.firstIndex === 0 && index & 0x80)) index += 1;
    const socket = new WebSocket(url, subprotocols, { headers });
    this.#targets.set(index, { socket });
    let opened = false;
    socket.on('error', ({ message }) => {
      if (opened) return;
      this.#targets.delete(index);
      this.#say({ id, type: 'reply', error: { code: 4007, message, path: 'url' } });
    });
    socket.on('open', () => {
      opened = true;
      const { protocol } = socket;
      this.#say({ id, type: 'reply', result: { index, ...(protocol && { protocol }) } });
    });
    socket.on('message', (data, isBinary) => {
      const prefix = Buffer.alloc(2);
      prefix.writeUInt16BE(index);
      this.#client.send(Buffer.concat([prefix, data]), { binary: isBinary || (index & 0x8080) !== 0 });
    });
    socket.on('close', (code, bytes) => {
      if (!opened) return;
      this.#targets.delete(index);
      const reason = String(bytes);
      const clean = code === 1006 && webSocket ? { clean: false } : {};
      const params = { index, code: code === 1006 ? 1001 : code, reason, ...clean };
      this.#say({ id: 0, type: 'method', method: this.#options.closedName, params });
    });
  }
}
