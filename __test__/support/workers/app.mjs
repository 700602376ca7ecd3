// An app of `millrace/http` with a route for every rule that the tests of apps check.
import { createReadStream } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';

import express, { HttpError } from '../http-app.mjs';
import { getKey, setKey } from '../millrace.mjs';

const app = express();
export default app;

app.set('body limit', 200_000);
app.use('/guarded', (req, res, next) => {
  if (req.query.key === 'wheel') next();
  else res.status(401).send('locked');
});
app.use('/cors', (_req, res, next) => {
  res.setCors('https://example.org');
  next();
});
app.use('/silent', () => {});

app.all('/request', (req, res) => {
  const { method, url, path, query, headers, body, httpVersion, params, ip, clientInfo, protocol, secure } = req;
  res.json({ method, url, path, query, headers, body, httpVersion, params, ip, clientInfo, protocol, secure });
});
app.all('/request/:id/*rest', (req, res) => res.json({ params: req.params, path: req.path }));
app.post('/json', (req, res) => res.json({ is: req.json, body: req.body }));
app.post('/form', (req, res) => res.json(req.form ?? 'no form'));
app.post('/bytes', (req, res) => res.send(req.bytes));
app.get('/guarded/inside', (_req, res) => res.send('inside'));
app.get('/guardednot', (_req, res) => res.send('outside'));
app.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
app.put('/users/:id', (req, res) => res.json({ put: req.params.id }));
app.post('/cors', (_req, res) => res.send('posted'));

app.get('/text', (_req, res) => res.send('\u20acuro \u{1f3e0}'));
app.get('/binary', (_req, res) => res.send(new Uint8Array([0, 255, 128, 10])));
app.get('/object', (_req, res) => res.send({ a: [1, '\u20ac'] }));
app.get('/empty', (_req, res) => res.send());
app.get('/status/:code', (req, res) => res.sendStatus(Number(req.params.code)));
app.get('/with-body/:code', (req, res) => res.status(Number(req.params.code)).send('a body'));
app.get('/headers', (_req, res) => res.set('content-type', 'text/css').set('X-Several', ['a', 'b']).send('p {}'));
app.get('/cookies', (_req, res) => res.cookie('a', '1 2', { httpOnly: true }).cookie('b', 2).clearCookie('c').end());
app.get('/redirect', (_req, res) => res.redirect('/elsewhere?a=\u20ac'));
app.get('/injected', (req, res) => {
  try {
    res.set('X-Value', req.query.value);
  } catch (error) {
    res.send(`${error.name}: refused`);
  }
});
app.get('/pieces', async (_req, res) => {
  res.type('text/plain');
  for (const piece of ['one ', 'two ', '\u20ac']) {
    if (!res.write(piece)) await res.drained();
    await turn();
  }
  res.end('end');
});
app.get('/stream/:bytes', (req, res) => res.stream(chunks(Number(req.params.bytes))));
app.get('/stream-breaks', (_req, res) =>
  res.stream(
    (async function* () {
      yield 'a beginning';
      while (getKey('break') === undefined) await turn();
      throw new Error('the stream broke');
    })(),
  ),
);
app.get('/stream-fails', (_req, res) => {
  res.stream(
    (async function* () {
      yield 'one ';
      while (getKey('break') === undefined) await turn();
      throw new Error('the stream failed');
    })(),
  );
});
app.get('/stream-missing', (_req, res) => {
  res.stream(createReadStream('/nowhere/at/all'));
});
app.get('/thread', (_req, res) => res.send(String(threadId)));
app.get('/gives-up', async (req) => {
  setKey('gives up', 'asked');
  await new Promise((_resolve, reject) =>
    req.signal.addEventListener('abort', () => {
      setKey('gives up', 'gave up');
      reject(req.signal.reason);
    }),
  );
});
app.get('/gave-up', (_req, res) => res.send(Buffer.from(getKey('gives up') ?? '').toString()));
app.get('/break', (_req, res) => {
  setKey('break', '1');
  res.end();
});
app.get('/later', async (_req, res) => {
  await turn();
  res.send('later');
});
app.get('/callback', (_req, res) => setImmediate(() => res.send('from a callback')));
app.get('/throws', () => {
  throw new Error('it throws');
});
app.get('/rejects', async () => {
  await turn();
  throw new Error('it rejects');
});
app.get('/passes-on', (_req, _res, next) => setImmediate(next, new Error('it passes on')));
app.get('/handled', () => {
  throw new HttpError(418, 'I am a teapot');
});
app.use('/handled', (error, _req, res, _next) => res.status(error.status).send(error.message));
app.get('/waits', async (req) => {
  setKey('waiting', '1');
  await new Promise((resolve) => req.signal.addEventListener('abort', resolve));
  setKey('left', '1');
});
app.get('/has-left', (_req, res) => res.json([getKey('waiting') !== undefined, getKey('left') !== undefined]));

function* chunks(bytes) {
  const piece = new Uint8Array(50_000).fill(0x61);
  for (let left = bytes; left > 0; left -= piece.length) yield left < piece.length ? piece.subarray(0, left) : piece;
}

app.ws('/socket/:name', {
  open(socket, request) {
    const { name } = socket.params;
    if (name === 'refused') return { status: 402, body: 'pay first' };
    if (name === 'protocol') return { protocol: request.protocols[0] };
    if (name === 'async') return turn(true);
    socket.data = { name };
    socket.send(JSON.stringify([name, socket.path, socket.query, socket.ip]));
    socket.subscribe('all');
    return true;
  },
  text(socket, text) {
    if (text.startsWith('publish ')) socket.send(String(socket.publish('all', text)));
    else if (text === 'close') socket.close(4000, 'asked to');
    else if (text === 'unsubscribe') socket.unsubscribe('all');
    else socket.send(`${socket.data?.name} said ${text}`);
  },
  binary(socket, data) {
    socket.send(data);
  },
  close(socket, code, reason) {
    setKey(`closed ${socket.params.name}`, `${code} ${reason}`);
  },
});
app.ws('/messages', {
  message(socket, message) {
    socket.send(typeof message === 'string' ? `text ${message}` : `${message.length} bytes`);
  },
});
app.ws('/text-only', { text() {} });
/** Sends more than a client that does not read takes, and tells it afterwards what the handlers saw. */
app.ws('/much', {
  async text(socket, text) {
    if (text === 'stream') {
      const bytes = await socket.sendStream(['one ', 'message']);
      socket.send(`${bytes} bytes`);
      return;
    }
    socket.data = [`${socket.bufferedAmount} bytes at first`];
    for (let count = 0; count < Number(text); count++) socket.send(new Uint8Array(1024 * 1024));
    // not awaited: the events of a connection wait for its handlers
    socket.drained({ timeoutMs: 60_000 }).then((isDrained) => socket.data.push(`drained: ${isDrained}`));
  },
  congested(socket) {
    socket.data.push(socket.bufferedAmount > 256 * 1024 ? 'congested' : `only ${socket.bufferedAmount} bytes`);
    setKey('congested', '1');
  },
  drain(socket) {
    socket.data.push(socket.bufferedAmount <= 64 * 1024 ? 'drain' : `${socket.bufferedAmount} bytes`);
    setTimeout(() => socket.send(JSON.stringify(socket.data)), 50);
  },
});
/** Tells of large messages as they are read, and of others. */
app.ws('/streams', {
  message: (socket, message) => void socket.send(`whole ${message.length}`),
  async messageStream(socket, stream) {
    let [pieces, length] = [0, 0];
    for await (const piece of stream) {
      pieces += 1;
      length += piece.length;
    }
    socket.send(`${stream.binary ? 'bytes' : 'text'} ${length} in ${pieces > 1 ? 'pieces' : 'one piece'}`);
  },
});
/** Tells of all messages when they are complete. */
app.ws('/whole', {
  text: (socket, text) => void socket.send(`text ${text.length} ${text.slice(-2)}`),
  binary: (socket, data) => void socket.send(`bytes ${data.length} ${data.at(-1)}`),
});
app.get('/closed/:name', (req, res) => {
  const closed = getKey(`closed ${req.params.name}`);
  res.send(closed === undefined ? '' : Buffer.from(closed).toString());
});
