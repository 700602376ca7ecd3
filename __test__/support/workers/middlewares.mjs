// An app of `millrace/http` with middlewares of npm, each at a path, for `middlewares.test.mjs`. Those that need Node's
// own request and response fail here.
import { EventEmitter } from 'node:events';
import { threadId } from 'node:worker_threads';
import cookieParser from 'cookie-parser';
import cors from 'cors';
import { rateLimit } from 'express-rate-limit';
import helmet from 'helmet';
import { createProxyMiddleware } from 'http-proxy-middleware';
import morgan from 'morgan';

import { createApp } from '../http-app.mjs';

const app = createApp({ cookieSecret: ['new', 'old'] });
export default app;

app.use('/cors', cors({ origin: ['https://example.org'], credentials: true, exposedHeaders: ['X-Total'], maxAge: 60 }));
app.use('/helmet', helmet());
app.use('/limited', rateLimit({ windowMs: 60_000, limit: 2, standardHeaders: 'draft-8', legacyHeaders: false }));
app.use('/cookies', cookieParser('new'));
app.use('/morgan', morgan('combined'));
// no program listens on port 1, so its request fails later, too
app.use('/proxied', createProxyMiddleware({ target: 'http://127.0.0.1:1' }));

for (const path of ['/cors', '/helmet', '/limited', '/morgan', '/proxied']) {
  app.all(path, (_req, res) => res.json({ ok: true }));
}
app.get('/cookies', (req, res) => res.json([req.cookies, req.signedCookies]));
app.get('/signed/:value', (req, res) => res.cookie('signed', req.params.value, { signed: true }).json({}));
app.get('/thread', (_req, res) => res.send(String(threadId)));
app.get('/protocol', (req, res) => res.json([req.protocol, req.secure, req.ip, req.hostname, req.originalUrl]));
app.post('/type', (req, res) => res.json([req.is('json'), req.is('html')]));
app.get('/message', (_req, res) => {
  res.statusMessage = 'Very Fine';
  res.json({});
});
app.get('/message/stream', (_req, res) => {
  res.statusMessage = 'Piece by Piece';
  res.statusCode = 299;
  res.write('a');
  res.end();
});

/** Middlewares that fail after their handler has returned without an answer. */
const LATE = {
  timer: () => setTimeout(() => fail('in a timer'), 1),
  immediate: () => setImmediate(() => fail('in an immediate')),
  tick: () => process.nextTick(() => fail('in a tick')),
  promise: () => void Promise.resolve().then(() => fail('in a promise')),
  event: () => process.nextTick(() => new EventEmitter().emit('error', new Error('of an event'))),
  member: (_req, res) => setTimeout(() => res.writeHead(200), 1),
  'member-in-promise': (req) => void Promise.resolve().then(() => req.on('end', () => {})),
  wrapped: (req) => setImmediate(() => wrapped(() => req.socket)),
};
app.get('/late/:how', (req, res) => {
  LATE[req.params.how](req, res);
});
app.get('/after/:how', (req, res) => {
  res.send('fine');
  LATE[req.params.how](req, res);
});
app.get('/handled/:how', (req, res) => {
  LATE[req.params.how](req, res);
});
app.use('/handled', (error, _req, res, _next) => res.status(418).text(`seen: ${error.message}`));

function fail(message) {
  throw new Error(message);
}

function wrapped(work) {
  try {
    work();
  } catch (cause) {
    throw new Error('the library failed', { cause });
  }
}
