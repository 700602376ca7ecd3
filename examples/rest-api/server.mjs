// @ts-check
/**
 * The REST API example: `node examples/rest-api/server.mjs`, then ask the address it prints.
 *
 * --port 3002        where it listens (or PORT); 0 picks a free one
 * --quiet            no line for each request
 */
import { parseArgs } from 'node:util';
import express from 'millrace/http';
import { usersRouter } from './users.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3002' },
    quiet: { type: 'boolean', default: false },
  },
});

const app = express();
app.set('body limit', 16_384);
app.use((req, res, next) => {
  if (!values.quiet) console.log(`[${new Date().toISOString()}] ${req.method} ${req.url}`);
  res.setNoCache();
  next();
});
app.get('/health', (_req, res) => res.json({ status: 'ok', seconds: Math.round(process.uptime()) }));
app.use('/api/users', usersRouter());
app.all('*', (req, res) => res.json({ error: `there is nothing at ${req.path}` }, 404));
app.use(
  /** @type {import('millrace/http').ErrorHandler} */
  (error, _req, res, next) => {
    const { status, message } = /** @type {{ status?: number, message: string }} */ (error);
    if (status === undefined) next(error);
    else res.json({ error: message }, status);
  },
);

const server = app.listen(values.port, 'localhost', (error) => {
  if (error) throw error;
  console.log(`REST API example: http://${server.address?.replace('127.0.0.1', 'localhost')}`);
});

server.stopOnSignals();
