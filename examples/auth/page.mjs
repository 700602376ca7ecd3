// @ts-check
/**
 * Serves the page and the login with the HTTP server of Node.js, and forwards WebSocket connections to Millrace. This
 * shows how an existing HTTP server shares its port.
 *
 * Page and WebSocket have the same host and port. So `origins: 'same-host'` protects the board, and the page needs no
 * configuration. The cost is that the bytes of each connection pass through this thread: fine for an example. If you
 * only need files, let Millrace serve them (`static`, as in ../chat).
 */
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';

/**
 * @param {URL} folder its files are read once, here: no path from the network reaches the disk
 * @param {{ host: string, port: number }} gateway where Millrace listens
 * @param {Record<string, import('node:http').RequestListener>} [routes] what else is answered: 'POST /login'
 * @returns {Promise<import('node:http').Server>} not yet listening
 */
export async function createPageServer(folder, gateway, routes = {}) {
  const files = await readFiles(folder);
  const server = createServer((request, response) => {
    const path = String(request.url).replace(/\?.*/s, '');
    const route = `${request.method} ${path}`;
    const file = files.get(path);
    if (Object.hasOwn(routes, route)) {
      routes[route]?.(request, response);
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else if (file === undefined) {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Not found\n');
    } else {
      response.writeHead(200, { ...HEADERS, 'content-type': file.type, 'content-length': file.body.length });
      response.end(request.method === 'HEAD' ? undefined : file.body);
    }
  });
  return server.on('upgrade', (request, socket, early) => {
    handOn(request, /** @type {import('node:net').Socket} */ (socket), early, gateway);
  });
}

/** @param {URL} folder */
async function readFiles(folder) {
  /** @type {Map<string, { type: string, body: Buffer }>} */
  const files = new Map();
  for (const name of await readdir(folder)) {
    const type = TYPES[name.slice(name.lastIndexOf('.'))];
    if (type === undefined) continue;
    const file = { type, body: await readFile(new URL(name, folder)) };
    files.set(name === 'index.html' ? '/' : `/${name}`, file);
  }
  return files;
}

/**
 * Repeats the request to Millrace unchanged, then joins the two connections. Millrace checks everything: method,
 * version, key, Origin against Host.
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:net').Socket} browser
 * @param {Buffer} early bytes that arrived together with the request
 * @param {{ host: string, port: number }} gateway
 */
function handOn(request, browser, early, gateway) {
  const millrace = connect(gateway, () => {
    let head = `${request.method} ${request.url} HTTP/1.1\r\n`;
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      head += `${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}\r\n`;
    }
    millrace.write(`${head}\r\n`, 'latin1');
    millrace.write(early);
    browser.pipe(millrace).pipe(browser);
  });
  millrace.setNoDelay(true);
  browser.on('error', () => millrace.destroy());
  browser.on('close', () => millrace.destroy());
  millrace.on('error', () => browser.destroy());
  // Millrace's last bytes still go out.
  millrace.on('close', () => browser.destroySoon());
}

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
