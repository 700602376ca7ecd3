// Servers of node:http with attached sockets, in the process of the server under test.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { Readable } from 'node:stream';

import express from 'express';
import { WebSocketServer } from 'ws';

import { worker } from '../server.mjs';

/** The servers of this process by name. */
const servers = new Map();

/** The upgrades that a server of ws saw. */
const upgrades = [];

/** The responses to requests for /later. */
const unanswered = [];

/** The length of each of the 100 pieces of /piped. */
const PIECE = 64 * 1024;

function appOf() {
  const app = express();
  app.get('/', (_request, response) => response.send('a page'));
  app.get('/slow', (_request, response) => {
    response.write('x'.repeat(4 * 1024 * 1024));
    setTimeout(() => response.end('end'), 20);
  });
  app.get('/later', (_request, response) => unanswered.push(response));
  app.get('/piped', (_request, response) => {
    Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(PIECE, 'x'))).pipe(response);
  });
  return app;
}

async function listen(server, where) {
  server.listen(where);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'string' ? `unix:${address}` : `127.0.0.1:${address.port}`;
}

const acts = {
  /** Starts a server with an app of Express, attaches, and returns the address. */
  async start(millrace, name, options, where = { port: 0, host: '127.0.0.1' }) {
    const server = http.createServer(appOf());
    const { module, ...others } = options;
    const sockets = await millrace.attach(server, { ...others, ...(module && { workerPath: worker(module) }) });
    servers.set(name, { server, sockets });
    return { address: await listen(server, where), addresses: sockets.addresses };
  },

  /** Attaches once more to a server. */
  async attach(millrace, name, other, options) {
    const { server } = servers.get(name);
    servers.set(other, { server, sockets: await millrace.attach(server, options) });
  },

  /** Adds a server of ws on a path. */
  ws(_millrace, name, path) {
    const { server } = servers.get(name);
    const other = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => {
      upgrades.push(request.url);
      if (request.url !== path) return;
      other.handleUpgrade(request, socket, head, (client) => client.on('message', (data) => client.send(`ws ${data}`)));
    });
  },

  upgrades: () => upgrades,

  /** The number of requests for /later that are not answered. */
  unanswered: () => unanswered.length,

  /** Answers requests for /later, the last one first. */
  answer(_millrace, ...texts) {
    for (const text of texts) unanswered.pop().end(text);
  },

  listeners: (_millrace, name) => servers.get(name).server.listenerCount('upgrade'),

  /** The open connections of the HTTP server itself. */
  connections: (_millrace, name) =>
    new Promise((resolve) => servers.get(name).server.getConnections((_error, count) => resolve(count))),

  /** The open descriptors that are sockets. Linux only. */
  descriptors: () => readdirSync('/proc/self/fd').length,

  async stop(_millrace, name, options) {
    await servers.get(name).sockets.stop(options);
  },

  async close(_millrace, name) {
    const { server } = servers.get(name);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  },

  /** The error of an attach that fails. */
  async failing(millrace, what) {
    const make = {
      https: () => https.createServer(),
      http: () => http.createServer(),
      http2: () => http2.createServer(),
      http2Secure: () => http2.createSecureServer(),
      object: () => ({}),
    };
    const made = make[what]();
    const options = { handlers: {} };
    try {
      await (await millrace.attach(made, options)).stop();
      return undefined;
    } catch (error) {
      return { name: error.name, code: error.code, message: error.message };
    }
  },
};

export default (millrace, act, ...given) => acts[act](millrace, ...given);
