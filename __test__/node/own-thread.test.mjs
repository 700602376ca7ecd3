// A listener of Node.js on the thread that calls `start`, as `handlers` instead of a worker module.

import test from 'ava';
import express from 'express';

import { ask } from '../support/ask.mjs';
import { start } from '../support/millrace.mjs';
import { nodeHandler } from '../support/millrace-node.mjs';

test.serial('an Express app answers on the calling thread, until the server stops', async (t) => {
  const app = express();
  let answered = 0;
  app.use(express.json());
  app.post('/sum', (req, res) => {
    answered += 1;
    res.json({ sum: req.body.a + req.body.b });
  });
  const server = await start({ bind: '127.0.0.1:0', handlers: nodeHandler(app) });
  const [address] = server.addresses;
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":2,"b":3}' };
  const { status, text } = await ask(address, '/sum', options);
  t.deepEqual([status, JSON.parse(text)], [200, { sum: 5 }]);
  t.is(answered, 1, 'the handler ran on this thread');
  t.is((await ask(address, '/other')).status, 404);
  await server.stop();
  await t.throwsAsync(ask(address, '/sum', options));
});
