// @ts-check
/** Five servers that send figures, each on its own port. Only this machine can reach them. */
import { once } from 'node:events';
import { WebSocketServer } from 'ws';

/** The figures: the first value, the largest step, and the bounds. */
const KINDS = [
  { name: 'price', unit: '€/MWh', at: 84, step: 2, least: 20, most: 180 },
  { name: 'temperature', unit: '°C', at: 11.5, step: 0.2, least: -5, most: 30 },
  { name: 'wind', unit: 'm/s', at: 6, step: 0.8, least: 0, most: 25 },
  { name: 'water', unit: 'm³/s', at: 42, step: 1.5, least: 5, most: 120 },
  { name: 'power', unit: 'kW', at: 310, step: 9, least: 0, most: 750 },
];

/** How many past figures a new client gets, so that its chart is not empty. */
const REMEMBERED = 40;

export class Source {
  #kind;
  #figures;
  #every;
  #timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  #server = /** @type {WebSocketServer | undefined} */ (undefined);

  /**
   * @param {typeof KINDS[number]} kind
   * @param {number} every milliseconds between two figures
   */
  constructor(kind, every) {
    this.#kind = kind;
    this.#figures = [kind.at];
    this.#every = every;
  }

  get name() {
    return this.#kind.name;
  }

  get unit() {
    return this.#kind.unit;
  }

  /** Its address, while it runs. */
  get url() {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? `ws://127.0.0.1:${address.port}` : undefined;
  }

  async start() {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    this.#server = server;
    server.on('connection', (socket) => socket.send(JSON.stringify(this.#figures)));
    this.#timer = setInterval(() => this.#next(server), this.#every);
  }

  /** Closes with the code of a server that is about to restart. */
  stop() {
    clearInterval(this.#timer);
    for (const socket of this.#server?.clients ?? []) socket.close(1012, 'restarting');
    this.#server?.close();
    this.#server = undefined;
  }

  /** @param {WebSocketServer} server */
  #next(server) {
    const { step, least, most } = this.#kind;
    const last = this.#figures.at(-1) ?? least;
    const figure = Math.min(most, Math.max(least, last + (2 * Math.random() - 1) * step));
    this.#figures = [...this.#figures, Number(figure.toFixed(2))].slice(-REMEMBERED);
    for (const socket of server.clients) socket.send(JSON.stringify(this.#figures.slice(-1)));
  }
}

/** @param {number} every milliseconds between two figures */
export async function startSources(every) {
  const sources = KINDS.map((kind) => new Source(kind, every));
  await Promise.all(sources.map((source) => source.start()));
  return sources;
}
