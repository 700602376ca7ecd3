// Programs for Node's own response, on which that of Express is based: heads, pieces, streams, events.
import { finished, PassThrough, pipeline, Readable } from 'node:stream';
import zlib from 'node:zlib';

import express from 'express';
import onFinished from 'on-finished';

const LARGE = Buffer.alloc(400_000, 'The quick brown fox. ');

function quiet() {
  const app = express();
  app.set('env', 'production');
  return app;
}

/** Node's response, without the methods of Express. */
export const rawAnswers = {
  make() {
    const app = quiet();
    app.disable('x-powered-by');
    app.get('/write-head', (_req, res) => {
      res.writeHead(201, 'Made', { 'X-One': 'a', 'x-two': ['b', 'c'] });
      res.end('made');
    });
    app.get('/write-list', (_req, res) => {
      res.setHeader('X-Set', '0');
      res.writeHead(200, ['X-A', '1', 'x-a', '2', 'X-B', '3']);
      res.end();
    });
    app.get('/chunks', (_req, res) => {
      res.write('one ');
      res.write(Buffer.from('two '));
      res.write('dr\u00ff ', 'latin1');
      res.write('Zm91cg==', 'base64');
      res.end('!');
    });
    app.get('/length', (_req, res) => {
      res.setHeader('Content-Length', 6);
      res.write('one');
      res.end('two');
    });
    app.get('/no-chunks', (_req, res) => {
      res.removeHeader('Transfer-Encoding');
      res.useChunkedEncodingByDefault = false;
      res.write('to the ');
      res.end('end');
    });
    app.get('/flush', (_req, res) => {
      res.setHeader('X-Flushed', '1');
      res.flushHeaders();
      setTimeout(() => res.end('later'), 20);
    });
    app.get('/trailers', (_req, res) => {
      res.setHeader('Trailer', 'X-Sum, X-Two');
      res.write('body');
      res.addTrailers({ 'X-Sum': 'abc', 'X-Two': '2' });
      res.end();
    });
    app.get('/no-date', (_req, res) => {
      res.sendDate = false;
      res.end('no date');
    });
    app.get('/own-date', (_req, res) => res.set('Date', 'never').set('Server', 'own').end('x'));
    app.get('/after-end', (_req, res) => {
      const seen = [];
      res.on('error', (error) => seen.push(error.code));
      res.end('first', () => seen.push('ended'));
      res.write('more', (error) => seen.push(error?.code));
      res.end('again', (error) => seen.push(error?.code));
    });
    app.get('/late-header', (_req, res) => {
      res.write('x');
      let message;
      try {
        res.setHeader('X-Late', '1');
      } catch (error) {
        message = `${error.code} ${res.headersSent}`;
      }
      res.end(message);
    });
    app.get('/204', (_req, res) => {
      res.writeHead(204, { 'Content-Type': 'text/x' });
      res.end('left out');
    });
    app.get('/304', (_req, res) => {
      res.writeHead(304, { 'Content-Length': '5' });
      res.end();
    });
    app.get('/head-body', (_req, res) => {
      res.write('one');
      res.end('two');
    });
    app.get('/close', (_req, res) => res.set('Connection', 'close').send('closed'));
    app.get('/cork', (_req, res) => {
      res.cork();
      res.write('a');
      res.write('b');
      res.uncork();
      res.end('c');
    });
    return app;
  },
  requests: [
    ...[
      'write-head',
      'write-list',
      'chunks',
      'length',
      'no-chunks',
      'flush',
      'no-date',
      'own-date',
      'after-end',
    ].flatMap((name) => [[`GET /${name}`], [`HEAD /${name}`]]),
    ['GET /trailers'],
    ...['late-header', '204', '304', 'head-body', 'close', 'cork'].flatMap((name) => [
      [`GET /${name}`],
      [`HEAD /${name}`],
    ]),
  ],
};

export const streams = {
  make() {
    const app = quiet();
    const pieces = () => Readable.from(Array.from({ length: 50 }, (_, index) => `piece ${index} `.repeat(1000)));
    app.get('/pipe', (_req, res) => void pieces().pipe(res));
    app.get('/gzip', (_req, res) => {
      res.set('Content-Encoding', 'gzip');
      pipeline(pieces(), zlib.createGzip(), res, () => undefined);
    });
    app.get('/drain', async (_req, res) => {
      let waits = 0;
      for (let index = 0; index < 40; index += 1) {
        if (res.write(LARGE.subarray(0, 30_000))) continue;
        waits += 1;
        await new Promise((resolve) => res.once('drain', resolve));
      }
      res.end(waits > 0 ? 'waited' : 'did not wait');
    });
    app.get('/fails', (_req, res) => {
      res.write('begun');
      setTimeout(() => res.destroy(), 20);
    });
    app.get('/fails-first', (req) => void req.destroy());
    app.get('/socket-fails', (req) => void req.socket.destroy());
    app.get('/error-late', (_req, res, next) => {
      res.write('begun');
      setTimeout(() => next(new Error('late')), 20);
    });
    app.get('/large', (_req, res) => res.send(LARGE));
    app.get('/large-text', (_req, res) => res.send(LARGE.toString().replaceAll('o', 'ö')));
    return app;
  },
  requests: [
    'pipe',
    'gzip',
    'drain',
    'fails',
    'fails-first',
    'socket-fails',
    'error-late',
    'large',
    'large-text',
  ].flatMap((name) => [[`GET /${name}`]]),
};

/** The events of a response and of its request, in their order. */
export const events = {
  make() {
    const app = quiet();
    let last = [];
    app.all('/watched', (req, res) => {
      const seen = [];
      last = seen;
      for (const name of ['end', 'close', 'aborted', 'error']) req.on(name, () => seen.push(`req ${name}`));
      for (const name of ['prefinish', 'finish', 'close', 'error']) res.on(name, () => seen.push(`res ${name}`));
      res.on('finish', () => seen.push(`finished ${res.writableFinished} ${res.writableEnded} ${res.destroyed}`));
      res.on('close', () => seen.push(`closed ${res.destroyed} ${res.closed} ${res.socket === null}`));
      const answer = () => {
        res.end('watched', () => seen.push('end callback'));
        seen.push(`sync ${res.writableEnded} ${res.writableFinished} ${res.headersSent} ${res.finished}`);
      };
      if (req.query.read === undefined) return answer();
      req.on('end', answer);
      req.resume();
    });
    app.get('/last', (_req, res) => res.json(last));
    app.get('/hints', (_req, res) => {
      res.writeEarlyHints({ link: ['</a>; rel=preload', '</b>; rel=preload'], 'x-hint': '1' }, () => {
        res.writeProcessing();
        res.writeContinue();
        setTimeout(() => res.send('hinted'), 10);
      });
    });
    app.get('/timeout', (req, res) => {
      res.setTimeout(30, () => res.status(503).send(`timed out ${req.socket.timeout}`));
    });
    app.get('/request-timeout', (req, res) => {
      req.setTimeout(30);
      req.socket.once('timeout', () => res.send('socket timed out'));
      res.on('timeout', () => undefined);
    });
    app.get('/no-timeout', (req, res) => {
      req.setTimeout(20, () => undefined);
      req.setTimeout(0);
      setTimeout(() => res.send('in time'), 60);
    });
    return app;
  },
  requests: [
    ['GET /watched'],
    ['GET /last'],
    ['POST /watched', {}, 'body'],
    ['GET /last'],
    ['POST /watched?read', { 'Transfer-Encoding': 'chunked' }, 'body'],
    ['GET /last'],
    ['HEAD /watched'],
    ['GET /last'],
    ['GET /hints'],
    ['GET /timeout'],
    ['GET /request-timeout'],
    ['GET /no-timeout'],
  ],
};

/** Ends and failures of streams, and the events for them. */
export const ends = {
  make() {
    const app = quiet();
    let log = [];
    app.get('/finished', (req, res) => {
      log = [];
      finished(res, (error) => log.push(`response ${error?.code}`));
      finished(req, (error) => log.push(`request ${error?.code}`));
      onFinished(res, () => log.push('on-finished'));
      res.send('x');
    });
    app.get('/log', (_req, res) => res.json(log));
    app.get('/source-fails', (_req, res) => {
      const source = new Readable({
        read() {
          this.push('x');
          this.destroy(new Error('failed'));
        },
      });
      source.on('error', () => res.destroy()).pipe(res);
    });
    app.get('/pipeline-fails', (_req, res) => {
      const source = new Readable({ read: (_size) => source.destroy(new Error('failed')) });
      pipeline(source, res, () => undefined);
    });
    app.get('/callbacks', (_req, res) => {
      const order = [];
      res.write('a', () => order.push(1));
      res.write('b', 'utf8', () => {
        order.push(2);
        res.end(JSON.stringify(order));
      });
    });
    app.get('/base64', (_req, res) => res.end('YWJj', 'base64'));
    app.get('/utf16', (_req, res) => res.end('abc', 'utf16le'));
    app.get('/event-stream', (_req, res) => {
      res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' }).flushHeaders();
      let count = 0;
      const timer = setInterval(() => {
        res.write(`data: ${count++}\n\n`);
        if (count < 3) return;
        clearInterval(timer);
        res.end();
      }, 5);
    });
    app.post('/through', (req, res) => {
      const through = req.pipe(new PassThrough());
      through.on('end', () => res.json([req.complete, req.readableEnded])).resume();
    });
    app.get('/socket', (req, res) => {
      const { socket } = req;
      const types = ['bytesRead', 'bytesWritten', 'getPeerCertificate', 'setNoDelay', 'encrypted'];
      res.json([types.map((name) => typeof socket[name]), socket.allowHalfOpen, req.client === socket]);
    });
    app.get('/many-headers', (_req, res) => {
      for (let index = 0; index < 300; index += 1) res.append(`X-${index % 150}`, String(index));
      res.set('X-Long', 'y'.repeat(5000)).send('many');
    });
    app.get('/upgrade', (req, res) => res.json([req.headers.upgrade, req.upgrade]));
    return app;
  },
  requests: [
    ...[
      'finished',
      'log',
      'source-fails',
      'pipeline-fails',
      'callbacks',
      'base64',
      'utf16',
      'event-stream',
      'socket',
      'many-headers',
    ].map((name) => [`GET /${name}`]),
    ['POST /through', {}, 'short'],
    ['POST /through', {}, Buffer.alloc(200_000)],
    ['GET /upgrade', { Upgrade: 'h2c', Connection: 'Upgrade' }],
  ],
};
