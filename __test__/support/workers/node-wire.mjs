// A listener without a framework, for tests of the layer between listener and connection. `/seen` returns its events.
import { createHash } from 'node:crypto';

import { nodeHandler } from '../millrace-node.mjs';

const seen = [];

const routes = {
  '/hello': (_req, res) => res.end('hello'),
  '/seen': (_req, res) => res.end(JSON.stringify(seen.splice(0))),
  '/facts': (req, res) =>
    res.end(
      JSON.stringify({
        version: req.httpVersion,
        url: req.url,
        method: req.method,
        headers: req.rawHeaders,
        encrypted: req.socket.encrypted ?? null,
        peer: [req.socket.remoteAddress, req.socket.remoteFamily],
        local: [req.socket.localAddress, req.socket.localPort, req.socket.localFamily, req.socket.address()],
      }),
    ),
  '/slow': (_req, res) => void setTimeout(() => res.end('slow'), 50),
  '/waits': watch,
  '/streams': (req, res) => {
    watch(req, res);
    res.write('begun');
  },
  '/body': (req, res) => {
    watch(req, res);
    req.on('data', () => undefined);
  },
  '/paused': (req, res) => {
    // reads one piece, and continues on request
    const hash = createHash('sha1');
    req.once('data', () => {
      req.pause();
      globalThis.resume = () => req.resume();
    });
    req.on('data', (piece) => hash.update(piece));
    req.on('end', () => res.end(hash.digest('hex')));
  },
  '/resume': (_req, res) => {
    globalThis.resume?.();
    res.end(globalThis.resume ? 'resumed' : 'not paused yet');
  },
  '/flood': (_req, res) => {
    let written = 0;
    const piece = Buffer.alloc(64 * 1024, 'x');
    const more = () => {
      while (written < 40_000_000) {
        written += piece.length;
        globalThis.written = written;
        if (!res.write(piece)) return res.once('drain', more);
      }
      res.end();
    };
    more();
  },
  '/written': (_req, res) => res.end(String(globalThis.written)),
  '/short': (_req, res) => {
    res.setHeader('Content-Length', 10);
    res.end('short');
  },
  '/long': (_req, res) => {
    res.setHeader('Content-Length', 4);
    res.end('longer than that');
  },
  '/throw': () => {
    throw new Error('thrown at once');
  },
  '/rejects': async () => {
    throw new Error('rejected');
  },
  '/throw-late': (_req, res) => {
    res.write('begun');
    throw new Error('thrown late');
  },
  '/throw-in-data': (req) => {
    req.on('data', () => {
      throw new Error('thrown at a piece');
    });
  },
  '/throw-in-finish': (_req, res) => {
    res.on('finish', () => {
      throw new Error('thrown at the end');
    });
    res.end('finished');
  },
  '/throw-in-timer': (_req, res) => {
    setTimeout(() => {
      res.end('answered');
      throw new Error('thrown by a timer');
    }, 1);
  },
  '/rejects-nowhere': (_req, res) => {
    Promise.reject(new Error('rejected for nobody'));
    res.end('answered');
  },
  '/sockets': (req, res) => {
    const attempts = {
      data: () => req.socket.on('data', () => undefined),
      read: () => req.socket.read(),
      pipe: () => req.socket.pipe(res),
      connect: () => req.socket.connect(1),
      ...(req.socket.encrypted && { certificate: () => req.socket.getPeerCertificate() }),
    };
    const codes = Object.entries(attempts).map(([name, attempt]) => {
      try {
        attempt();
        return [name, 'nothing'];
      } catch (error) {
        return [name, error.code, error.message.includes('net.Socket')];
      }
    });
    const harmless = [
      req.socket.setNoDelay(true),
      req.socket.setKeepAlive(true, 1),
      req.socket.ref(),
      req.socket.unref(),
    ];
    res.end(JSON.stringify([codes, harmless.every((one) => one === req.socket)]));
  },
  '/hints': (_req, res) => res.writeEarlyHints({ link: '</a>' }, () => res.end('hinted')),
  '/trailers': (_req, res) => {
    res.setHeader('Trailer', 'X-Sum');
    res.write('body');
    res.addTrailers({ 'X-Sum': 'abc' });
    res.end();
  },
  '/chunks': (_req, res) => {
    res.setHeader('X-Chunks', '1');
    res.write('a');
    res.end('b');
  },
  '/echo': (req, res) => void req.pipe(res),
  '/early': (_req, res) => {
    res.statusCode = 413;
    res.end('no');
  },
  '/smuggle': (_req, res) => {
    res._header = 'HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n';
    res._headerSent = false;
    res.end('x');
  },
  '/raw-end': (req) => void req.socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nraw'),
};

function watch(req, res) {
  const tell = (name) => () =>
    seen.push([name, req.aborted, req.destroyed, req.complete, res.destroyed, res.writableFinished, res.writableEnded]);
  req.on('aborted', tell('req aborted')).on('close', tell('req close'));
  req.on('error', (error) => seen.push(['req error', error.code, error.message]));
  res.on('close', tell('res close')).on('finish', tell('res finish'));
  req.socket.on('close', tell('socket close'));
}

export const listener = (req, res) => {
  const route = routes[req.url.split('?')[0]];
  if (route !== undefined) return route(req, res);
  res.statusCode = 404;
  res.end('no route');
  return undefined;
};

/** Handlers of WebSockets in the same module. */
export function handleTextMessage(text, socketId) {
  globalThis.send?.(socketId, text);
}

export async function handleStart() {
  const { send } = await import('../millrace.mjs');
  globalThis.send = send;
}

export default nodeHandler(listener);
