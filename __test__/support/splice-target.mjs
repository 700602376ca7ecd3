// Targets of splice over node:net, which send exact bytes and check their input.
import { once } from 'node:events';
import net from 'node:net';
import secure from 'node:tls';

import { SOON, within } from './deadline.mjs';
import { CLOSE, CONTINUATION, close, FrameParser, frame, PING, PONG, TEXT, Violation } from './frames.mjs';
import { acceptOf } from './http.mjs';

/** One connection to a target: checks the multiplexer's bytes as strictly as a server checks those of a client. */
export class Connection {
  /** The request: `{line, path, headers}`, headers as a list of [name, value]. */
  request = undefined;
  /** Complete messages that were not read yet: `{kind, data}`, data as a Buffer. */
  inbox = [];
  pings = [];
  pongs = [];
  /** `{code, reason}`; code 1005 if the frame had none. */
  closeFrame = undefined;
  closeFrames = 0;
  violation = undefined;
  over = false;
  /** The masking keys of all frames, in hexadecimal. */
  masks = [];
  received = 0;
  #socket;
  #options;
  #head = Buffer.alloc(0);
  #parser = new FrameParser({ masked: true });
  #parts = [];
  #kind = TEXT;
  #waiters = new Set();

  constructor(socket, given) {
    this.#socket = socket;
    this.#options = { autoPong: true, autoClose: true, accept: true, ...given };
    socket.on('error', () => {});
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('close', () => {
      this.over = true;
      this.#changed();
    });
  }

  header(name) {
    const found = this.request.headers.filter(([one]) => one.toLowerCase() === name.toLowerCase());
    return found.length > 0 ? found.map(([, value]) => value).join(', ') : undefined;
  }

  /** Answers the handshake. `early`: frames in the same segment. */
  accept({ protocol, early = Buffer.alloc(0), lines = [] } = this.#options) {
    const head = [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${acceptOf(this.header('Sec-WebSocket-Key'))}`,
      ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
      ...lines,
    ];
    this.raw(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), early]));
  }

  raw(bytes) {
    return this.#socket.write(bytes);
  }

  frame(given) {
    return this.#socket.write(frame({ masked: false, ...given }));
  }

  send(data) {
    return this.frame({ opcode: typeof data === 'string' ? TEXT : 2, payload: data });
  }

  close(code, reason) {
    this.#socket.write(close(code, reason, { masked: false }));
  }

  pause() {
    this.#socket.pause();
  }

  resume() {
    this.#socket.resume();
  }

  end() {
    this.#socket.end();
  }

  reset() {
    this.#socket.resetAndDestroy();
  }

  destroy() {
    this.#socket.destroy();
  }

  async when(condition, what, { ms = SOON, evenOver = false } = {}) {
    let check;
    const met = new Promise((resolve, reject) => {
      check = () => {
        const value = condition();
        if (value) resolve(value);
        else if (this.violation) reject(this.violation);
        else if (this.over && !evenOver) reject(new Error(`the target's connection is over, waiting for ${what}`));
      };
      this.#waiters.add(check);
      check();
    });
    try {
      return await within(met, what, ms);
    } finally {
      this.#waiters.delete(check);
    }
  }

  async next(ms) {
    await this.when(() => this.inbox.length > 0, 'a message at the target', { ms });
    return this.inbox.shift();
  }

  async text(ms) {
    const { kind, data } = await this.next(ms);
    if (kind !== 'text') throw new Error(`expected text, got ${data.length} bytes of binary`);
    return String(data);
  }

  async pong() {
    await this.when(() => this.pongs.length > 0, 'a pong at the target');
    return this.pongs.shift();
  }

  /** Resolves with the close frame: `{code, reason}`. */
  async closing() {
    return this.when(() => this.closeFrame, 'a close frame at the target');
  }

  /** Waits for the end of the connection. */
  async closed() {
    await this.when(() => this.over, "the end of the target's connection", { evenOver: true });
    if (this.violation) throw this.violation;
    return { code: 1006, reason: '', ...this.closeFrame };
  }

  #changed() {
    for (const check of [...this.#waiters]) check();
  }

  #take(bytes) {
    try {
      if (this.request === undefined) this.#takeHead(bytes);
      else for (const found of this.#parser.push(bytes)) this.#frame(found);
    } catch (error) {
      this.violation = error;
      this.destroy();
    }
    this.#changed();
  }

  #takeHead(bytes) {
    this.#head = Buffer.concat([this.#head, bytes]);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return;
    if (this.#head.length > end + 4) throw new Violation('frames before the answer');
    const [line, ...lines] = this.#head.toString('utf8', 0, end).split('\r\n');
    const headers = lines.map((one) => [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 1).trim()]);
    this.request = { line, path: line.split(' ')[1], headers };
    const { accept } = this.#options;
    if (typeof accept === 'function') accept(this);
    else if (accept) this.accept();
  }

  #frame({ opcode, fin, payload, mask }) {
    if (this.closeFrame) throw new Violation(`frame with opcode ${opcode} after the close frame`);
    this.masks.push(mask.toString('hex'));
    if (opcode === PING) {
      this.pings.push(payload);
      if (this.#options.autoPong) this.frame({ opcode: PONG, payload });
    } else if (opcode === PONG) {
      this.pongs.push(payload);
    } else if (opcode === CLOSE) {
      this.#onClose(payload);
    } else {
      if (opcode !== CONTINUATION) this.#kind = opcode;
      this.#parts.push(payload);
      if (fin) this.#message(Buffer.concat(this.#parts));
    }
  }

  #onClose(payload) {
    if (payload.length === 1) throw new Violation('close frame with one byte');
    const code = payload.length === 0 ? 1005 : payload.readUInt16BE(0);
    if ([1004, 1005, 1006, 1015].includes(code) && payload.length > 0) throw new Violation(`close code ${code}`);
    this.closeFrames++;
    this.closeFrame = { code, reason: payload.toString('utf8', 2) };
    if (this.#options.autoClose) {
      this.#socket.end(frame({ opcode: CLOSE, payload: payload.subarray(0, 2), masked: false }));
    }
  }

  #message(data) {
    this.#parts = [];
    this.received++;
    const message = { kind: this.#kind === TEXT ? 'text' : 'binary', data };
    if (this.#options.onMessage) this.#options.onMessage(message, this);
    else this.inbox.push(message);
  }
}

/** A server to which the multiplexer connects. */
export class Target {
  /** All its connections so far. */
  connections = [];
  #server;
  #taken = 0;
  #arrived = () => {};
  #scheme;

  /**
   * Options: accept (true: answers handshakes; false; or a function of the connection), protocol, early, lines, autoPong,
   * autoClose, onMessage `(message, connection)`, paused, tls (options of `tls.createServer`), host. Ends with the test.
   */
  static async listen(t, given = {}) {
    const target = new Target();
    const { tls, host = '127.0.0.1' } = given;
    const take = (socket) => {
      const connection = new Connection(socket, given);
      if (given.paused) connection.pause();
      target.connections.push(connection);
      target.#arrived();
    };
    target.#scheme = tls === undefined ? 'ws' : 'wss';
    target.#server = tls === undefined ? net.createServer(take) : secure.createServer(tls, take);
    target.#server.listen(0, host);
    t.teardown(() => {
      for (const connection of target.connections) connection.destroy();
      target.#server.close();
    });
    await once(target.#server, 'listening');
    return target;
  }

  /** A target that sends every message back. */
  static echo(t, more) {
    return Target.listen(t, {
      onMessage: ({ kind, data }, to) => to.frame({ opcode: kind === 'text' ? 1 : 2, payload: data }),
      ...more,
    });
  }

  get port() {
    return this.#server.address().port;
  }

  url(path = '/', host = '127.0.0.1') {
    return `${this.#scheme}://${host}:${this.port}${path}`;
  }

  /** The next new connection. */
  async next() {
    const index = this.#taken++;
    await within(
      new Promise((resolve) => {
        const look = () => this.connections.length > index && resolve();
        const before = this.#arrived;
        this.#arrived = () => {
          before();
          look();
        };
        look();
      }),
      'a connection to the target',
    );
    return this.connections[index];
  }

  /** The next new connection, when its request has arrived. */
  async asked() {
    const connection = await this.next();
    await connection.when(() => connection.request, 'the request to the target', { evenOver: true });
    return connection;
  }
}
