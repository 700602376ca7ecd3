// A small server of millrace.v1, for what the real one cannot be made to do on demand: links that are half open or stall,
// lost messages, any close code. It is strict: it notes whatever a client may not send.
import { once } from 'node:events';
import http from 'node:http';
import { WebSocketServer } from 'ws';
import { until } from './deadline.mjs';
import { Channels } from './v1-channels.mjs';
import { V1Session } from './v1-session.mjs';
import { V1Stream } from './v1-stream.mjs';

const PROTOCOL = 'millrace.v1';

export class V1Server {
  /** What clients did that they may not do. */
  violations = [];
  /** All connections, the last one last; those that ended, too. */
  sessions = [];
  /** What each connection offered as subprotocols, or as a token on a stream. */
  offers = [];
  /** The methods that clients can call. */
  methods = { echo: (data) => data };
  /** What a subscription is answered with, instead of `ok`. */
  refuse = () => undefined;
  #serial = 0;

  /** Starts one on a free port; ends with the test. `pages` gives `{type, body}` for the path of a request, or nothing. */
  static async start(t, { channels = () => ({ history: 100, presence: true }), ping = 25_000, ...options } = {}) {
    const server = new V1Server();
    Object.assign(server, { channels: new Channels(channels), ping, webSockets: true, ...options });
    server.http = http.createServer((request, response) => server.#request(request, response));
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => PROTOCOL });
    server.http.on('upgrade', (request, socket, head) => {
      if (!server.webSockets) return socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
      sockets.handleUpgrade(request, socket, head, (ws) => server.#accept(ws, request));
    });
    server.http.listen(0, '127.0.0.1');
    await once(server.http, 'listening');
    t.teardown(() => {
      for (const session of server.sessions) session.cut();
      server.http.close();
    });
    return server;
  }

  get url() {
    return `ws://127.0.0.1:${this.http.address().port}/`;
  }

  /** The connection that is open now. */
  get current() {
    return this.sessions.findLast((session) => !session.over);
  }

  /** Resolves with a connection when a number of them have been made. */
  async connections(number) {
    return until(() => this.sessions.length >= number && this.current, `connection number ${number}`);
  }

  publish(name, payload, options) {
    return this.channels.publish(name, payload, options);
  }

  #accept(ws, request) {
    this.offers.push(request.headers['sec-websocket-protocol'].split(/ *, */));
    this.#begin((session) => {
      ws.on('message', (data, isBinary) => session.receive(data, isBinary));
      ws.on('close', () => session.ended());
      ws.on('error', () => {});
      return {
        write: (message) => ws.send(message),
        close: (code, reason) => ws.close(code, reason),
        cut: () => ws.terminate(),
        mute: () => ws.pause(),
      };
    });
  }

  #begin(carry) {
    this.#serial += 1;
    const session = new V1Session(this, `${this.#serial}`);
    this.sessions.push(session);
    session.begin(carry(session));
    return session;
  }

  async #request(request, response) {
    response.setHeader('Access-Control-Allow-Origin', '*');
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const page = await this.pages?.(pathname);
    if (page) return response.setHeader('Content-Type', page.type).end(page.body);
    if (pathname !== '/events' || searchParams.get('v') !== '1') return response.writeHead(404).end();
    if (request.method === 'POST') return V1Stream.post(this, request, response);
    if (this.streamStatus) return response.writeHead(this.streamStatus).end();
    this.offers.push(request.headers.authorization);
    this.#begin((session) => V1Stream.carry(session, response));
  }
}
