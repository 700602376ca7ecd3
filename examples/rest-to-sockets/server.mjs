// @ts-check
/**
 * The REST to sockets example: `node examples/rest-to-sockets/server.mjs`, then open the address it prints.
 *
 * PORT       where it listens, 3012 by default; 0 picks a free one
 * API_KEY    the key of programs that change orders; if it is not set, a new one is made and printed
 */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { send } from 'millrace';
import express, { HttpError } from 'millrace/http';

const { PORT = '3012' } = process.env;
// An empty key would let every client write.
const API_KEY = process.env.API_KEY || randomUUID();
const STATUSES = ['received', 'packed', 'sent'];
const MOST_ORDERS = 10_000;

/** @typedef {{ id: number, item: string, status: string }} Order */
/** @type {Map<number, Order>} */
const orders = new Map();

const app = express();
app.set('body limit', 4096);

app.get('/orders', (_req, res) => res.json([...orders.values()]));
app.get('/orders/:id', (req, res) => res.json(find(req.params.id)));

app.post('/orders', requireKey, (req, res) => {
  if (orders.size >= MOST_ORDERS) throw new HttpError(409, `there are ${MOST_ORDERS} orders already`);
  const { item } = Object(req.json);
  if (typeof item !== 'string' || item.trim() === '') throw new HttpError(400, 'item must be a text');
  const order = { id: orders.size + 1, item: item.trim(), status: 'received' };
  orders.set(order.id, order);
  tell(order);
  res.location(`/orders/${order.id}`).json(order, 201);
});

app.put('/orders/:id/status', requireKey, (req, res) => {
  const order = find(req.params.id);
  const { status } = Object(req.json);
  if (!STATUSES.includes(status)) throw new HttpError(400, `status must be one of ${STATUSES.join(', ')}`);
  order.status = status;
  tell(order);
  res.json(order);
});

// Sockets receive all orders, or one. They get the current state first, so that they miss nothing.
app.ws('/orders', {
  open(socket) {
    socket.subscribe('orders');
    for (const order of orders.values()) socket.send(JSON.stringify(order));
  },
});
app.ws('/orders/:id', {
  open(socket) {
    const order = orders.get(Number(socket.params.id));
    if (order === undefined) return { status: 404 };
    socket.subscribe(`order ${order.id}`);
    socket.send(JSON.stringify(order));
    return true;
  },
});

app.use(
  /** @type {import('millrace/http').ErrorHandler} */
  (error, _req, res, next) =>
    error instanceof HttpError ? res.json({ error: error.message }, error.status) : next(error),
);

const server = app.listen({
  bind: `localhost:${PORT}`,
  origins: 'same-host',
  static: { directory: new URL('./public/', import.meta.url) },
  stopOnSignals: true,
  onError: (error) => console.error(error),
});
await server.ready;
if (API_KEY !== process.env.API_KEY) console.log(`API_KEY: ${API_KEY}`);
console.log(`REST to sockets example: http://localhost:${server.address?.split(':').at(-1)}`);

/** The only line between the API and the sockets. @param {Order} order */
function tell(order) {
  send(['orders', `order ${order.id}`], JSON.stringify(order));
}

/** @param {string} id */
function find(id) {
  const order = orders.get(Number(id));
  if (order === undefined) throw new HttpError(404, `there is no order ${id}`);
  return order;
}

/**
 * @param {import('millrace/http').Request} req
 * @param {import('millrace/http').Response} _res
 * @param {() => void} next
 */
function requireKey(req, _res, next) {
  const [, key = ''] = /^Bearer (.+)$/i.exec(req.get('authorization') ?? '') ?? [];
  // All hashes have the same length, and comparing them takes the same time for any keys.
  if (!timingSafeEqual(sha256(key), sha256(API_KEY))) throw new HttpError(401, 'Authorization: Bearer API_KEY');
  next();
}

/** @param {string} text */
function sha256(text) {
  return createHash('sha256').update(text).digest();
}
