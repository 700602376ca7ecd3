// Servers of `http.createServer` with options and with listeners for other events than `'request'`: each answers the
// same bytes through `nodeHandler` as when it listens itself.
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import test from 'ava';

import { HttpConnection, request } from '../support/http-connection.mjs';
import { start } from '../support/millrace.mjs';
import { nodeHandler } from '../support/millrace-node.mjs';

const CONTINUE = ['Content-Length: 4', 'Expect: 100-continue'];

/** Servers by what they show: `requests` has the arguments of `request` and how many answers follow. */
const SERVERS = {
  'an expectation, without a listener for it': {
    make: () =>
      createServer((req, res) => {
        let length = 0;
        req.on('data', (piece) => (length += piece.length));
        req.on('end', () => res.end(`${req.headers.expect} ${length}`));
      }),
    requests: [
      [2, 'POST / HTTP/1.1', CONTINUE, { body: 'body' }],
      [2, 'GET / HTTP/1.1', ['Expect: 100-Continue']],
      [2, 'POST / HTTP/1.1', ['Expect: 100-continue', 'Transfer-Encoding: chunked'], { body: '2\r\nab\r\n0\r\n\r\n' }],
      [1, 'GET / HTTP/1.1', ['Expect: a pony']],
      [1, 'GET / HTTP/1.0', ['Expect: a pony']],
    ],
  },
  'checkContinue and checkExpectation': {
    make: () =>
      createServer((_req, res) => res.end('an ordinary request'))
        .on('checkContinue', (req, res) => {
          if (req.url === '/no') return res.writeHead(413).end();
          res.writeContinue();
          req.resume().on('end', () => res.end('continued'));
        })
        .on('checkExpectation', (req, res) => res.writeHead(417).end(`not ${req.headers.expect}`)),
    requests: [
      [2, 'POST /go HTTP/1.1', CONTINUE, { body: 'body' }],
      [1, 'POST /no HTTP/1.1', CONTINUE],
      [1, 'GET / HTTP/1.1', ['Expect: a pony']],
      [1, 'GET / HTTP/1.1'],
    ],
  },
  'classes of its own': {
    make() {
      class Request extends IncomingMessage {
        own = 'request';
      }
      class Response extends ServerResponse {
        finish(text) {
          this.end(`finished by ${text}`);
        }
      }
      return createServer({ IncomingMessage: Request, ServerResponse: Response }, (req, res) => res.finish(req.own));
    },
    requests: [[1, 'GET / HTTP/1.1']],
  },
  'options for headers and bodies': {
    make() {
      const options = { joinDuplicateHeaders: true, uniqueHeaders: ['x-one'], rejectNonStandardBodyWrites: true };
      let refused;
      return createServer(options, (req, res) => {
        res.setHeader('X-One', ['a', 'b']);
        res.setHeader('X-Two', ['a', 'b']);
        res.setHeader('X-Seen', `${req.headers['user-agent']}; ${refused}`);
        res.statusCode = 204;
        try {
          res.write('a body');
        } catch (error) {
          refused = error.code;
        }
        res.end();
      });
    },
    requests: [
      [1, 'GET / HTTP/1.1', ['User-Agent: a', 'User-Agent: b']],
      [1, 'GET /again HTTP/1.1'],
    ],
  },
  'timeouts that only the server or the socket hears of': {
    make: () =>
      createServer((req, res) => {
        // the server is told first: with nobody else to tell, it destroys the socket
        req.socket.setTimeout(20, () => res.end('too late'));
      }),
    requests: [[0, 'GET / HTTP/1.1']],
  },
  'a listener for timeouts': {
    make: () =>
      createServer((req) => void req.socket.setTimeout(20)).on('timeout', (socket) => {
        socket.end('HTTP/1.1 408 Own\r\nContent-Length: 0\r\n\r\n');
      }),
    requests: [[1, 'GET / HTTP/1.1']],
  },
};

/** All that a client is sent for a request, up to its last answer or the end of the connection. */
async function exchange(t, address, [answers, line, headers, more]) {
  const connection = new HttpConnection(address).write(request(line, headers, more));
  t.teardown(() => connection.destroy());
  const seen = [];
  if (answers === 0) seen.push(await connection.closed());
  for (let index = 0; index < answers; index += 1) {
    const { status, reason, headers: all, body } = await connection.answer();
    const { date, connection: _own, 'keep-alive': _time, ...rest } = all;
    seen.push([status, reason, date === undefined, rest, body.toString()]);
  }
  connection.destroy();
  return seen;
}

for (const [name, { make, requests }] of Object.entries(SERVERS)) {
  test.serial(name, async (t) => {
    const plain = make().listen(0, '127.0.0.1');
    t.teardown(() => {
      plain.closeAllConnections();
      plain.close();
    });
    await once(plain, 'listening');
    const gateway = await start({ bind: '127.0.0.1:0', handlers: nodeHandler(make()) });
    t.teardown(() => gateway.stop());
    for (const asked of requests) {
      const expected = await exchange(t, `127.0.0.1:${plain.address().port}`, asked);
      t.deepEqual(await exchange(t, gateway.addresses[0], asked), expected, asked.flat().join(', '));
    }
    await gateway.stop();
  });
}

test.serial('events of a socket have their order and arguments', async (t) => {
  const told = [];
  for (const serve of [
    async (listener) => {
      const server = createServer(listener).listen(0, '127.0.0.1');
      t.teardown(() => server.close());
      await once(server, 'listening');
      return `127.0.0.1:${server.address().port}`;
    },
    async (listener) => {
      const server = await start({ bind: '127.0.0.1:0', handlers: nodeHandler(listener) });
      t.teardown(() => server.stop());
      return server.addresses[0];
    },
  ]) {
    const seen = [];
    let closed;
    const whole = new Promise((resolve) => {
      closed = resolve;
    });
    const address = await serve((req, res) => {
      for (const name of ['aborted', 'error', 'close']) req.on(name, (what) => seen.push(['req', name, what?.message]));
      res.on('close', () => {
        seen.push(['res', 'close']);
        closed();
      });
      req.socket.on('close', (hadError) => seen.push(['socket', 'close', hadError]));
      seen.push(Object.keys(req.socket.address()));
      req.destroy(new Error('destroyed'));
    });
    const connection = new HttpConnection(address).write(request('GET / HTTP/1.1'));
    await connection.closed();
    await whole;
    told.push(seen);
  }
  t.deepEqual(told[1], told[0]);
  t.true(told[0].length > 4);
});
