// Answers requests by their path: one path for each feature of a `fetch` handler.
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { threadId } from 'node:worker_threads';

import { getKey, send, setKey } from '../millrace.mjs';

const bytes = (text) => new TextEncoder().encode(text);
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const aborts = [];

function inPieces(pieces) {
  return new ReadableStream({
    async pull(controller) {
      await later(1);
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(bytes(piece));
    },
  });
}

let kept;

const routes = {
  '/kept': () => {
    kept ??= new Response('kept');
    return kept;
  },
  '/typed': () => new Response('a {}', { headers: { 'Content-Type': 'text/css' } }),
  '/hello': () => new Response('hello'),
  '/json': () => Response.json({ hello: 'world' }),
  '/dated': () => ({ headers: { Date: 'a date of its own' }, body: 'dated' }),
  '/thread': () => ({ body: String(threadId) }),
  '/plain': () => ({ status: 201, headers: { 'X-One': '1', 'set-cookie': ['a=1', 'b=2'] }, body: 'plain' }),
  '/cookies': () =>
    new Response('x', {
      headers: [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    }),
  '/bytes': () => ({ body: bytes('bytes') }),
  '/buffer': () => ({ body: bytes('buffer').buffer }),
  '/empty': () => ({ status: 200 }),
  '/no-content': () => new Response(null, { status: 204 }),
  '/async': async () => {
    await later(5);
    return new Response('async');
  },
  '/pieces': () => new Response(inPieces(['one ', 'two ', 'three'])),
  '/generator': () => ({
    body: (async function* () {
      yield 'one ';
      yield bytes('two');
    })(),
  }),
  '/about': async (request, info) =>
    Response.json({
      method: request.method,
      url: request.url,
      headers: [...request.headers],
      isRequest: request instanceof Request,
      ip: info.ip,
      version: info.httpVersion,
      encrypted: info.encrypted,
    }),
  '/text': async (request) => new Response(await request.text()),
  '/length': async (request) => ({ body: String((await request.arrayBuffer()).byteLength) }),
  '/read-later': async (request) => {
    while (getKey('read') === undefined) await later(2);
    return { body: String((await request.arrayBuffer()).byteLength) };
  },
  '/parsed': async (request) => Response.json(await request.json()),
  '/form': async (request) => Response.json([...(await request.formData())]),
  '/echo': (request) => new Response(request.body, { headers: { 'content-type': 'application/octet-stream' } }),
  '/count': async (request) => {
    let count = 0;
    for await (const piece of request.body ?? []) count += piece.length;
    return { body: String(count) };
  },
  '/twice': async (request) => {
    await request.text();
    return { body: await request.text().catch((error) => `${error.name} ${request.bodyUsed}`) };
  },
  '/clone': async (request) => {
    const copy = request.clone();
    return { body: `${copy instanceof Request} ${await copy.text()} ${await request.text()}` };
  },
  '/throw': () => {
    throw new Error('thrown');
  },
  '/reject': async () => {
    await later(1);
    throw new Error('rejected');
  },
  '/nothing': () => undefined,
  '/number': () => 5,
  '/split': () => ({ headers: { 'x-a': 'b\r\nx-c: d' }, body: '' }),
  '/zero': () => ({ headers: { 'x-a': 'b\0x-c\0d' }, body: '' }),
  '/odd-status': () => ({ status: 99, body: '' }),
  '/odd-body': () => ({ body: 5 }),
  '/used': async () => {
    const response = new Response('used up');
    await response.text();
    return response;
  },
  '/locked': () => {
    const response = new Response('locked');
    response.body.getReader();
    return response;
  },
  '/error': () => Response.error(),
  '/moved': () => Response.redirect('http://example.org/there', 307),
  '/subclass': () => new (class extends Response {})('of a subclass', { status: 203 }),
  '/shaped': () => ({ status: 202, headers: new Headers({ 'x-one': '1' }), body: new Blob(['shaped']).stream() }),
  '/no-value': () => ({ headers: { 'x-one': undefined }, body: '' }),
  '/length-of-head': () => ({ headers: { 'content-length': '12345' } }),
  '/endless-text': () => ({
    body: (async function* () {
      for (;;) yield 'more ';
    })(),
  }),
  '/one-piece': () => ({
    body: (async function* () {
      await later(1);
      yield 'one piece';
    })(),
  }),
  '/fails-first': () => ({
    // biome-ignore lint/correctness/useYield: it fails before a yield
    body: (async function* () {
      await later(1);
      throw new Error('no first piece');
    })(),
  }),
  '/late-piece': () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await later(1000);
          controller.enqueue(bytes('late'));
          controller.close();
        },
      }),
    ),
  '/iterator': () => {
    aborts.push('iterating');
    const next = () => new Promise(() => {});
    const ended = async () => ({ done: true, value: aborts.push('returned') });
    return { body: { [Symbol.asyncIterator]: () => ({ next, return: ended }) } };
  },
  '/node-stream': () => {
    aborts.push('reading');
    return { body: new Readable({ read() {}, destroy: (error, done) => done(error, aborts.push('destroyed')) }) };
  },
  '/shown': (request) => ({ body: inspect(request) }),
  '/own-bytes': async (request) => {
    const all = await request.bytes();
    return Response.json([all.constructor.name, all.byteOffset, all.buffer.byteLength, all.length]);
  },
  '/files': async (request) => {
    const form = await request.formData();
    const entries = [...form].map(async ([name, value]) =>
      typeof value === 'string' ? [name, value] : [name, value.name, value.type, await value.text()],
    );
    return Response.json(await Promise.all(entries));
  },
  '/remade': async (request) => {
    const url = new URL(request.url);
    url.pathname = '/elsewhere';
    const made = new Request(url, request);
    return { body: `${made.method} ${made.url} ${made.headers.get('x-one')} ${await made.text()}` };
  },
  '/passed-on': async (request) => {
    const made = new Request(request, { headers: { 'x-one': request.headers.get('x-one') } });
    const isRequest = made instanceof Request && new (class extends Request {})(made.url) instanceof Request;
    return { body: `${made.method} ${await made.text()} ${made.headers.get('x-one')} ${isRequest}` };
  },
  '/around': (request) => {
    if (request.headers.has('x-hop')) return new Response(`came back with ${request.headers.get('x-one')}`);
    request.headers.set('x-hop', '1');
    return globalThis.fetch(request);
  },
  '/copied': async (request) => {
    const copy = request.clone();
    return Response.json([copy.url, copy.method, [...copy.headers], await copy.text()]);
  },
  '/gives-up': async (request) => {
    aborts.push('asked');
    await new Promise((_resolve, reject) =>
      request.signal.addEventListener('abort', () => {
        aborts.push('gave up');
        reject(request.signal.reason);
      }),
    );
  },
  '/never': () => new Promise(() => {}),
  '/breaks': () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await later(5);
          if (this.begun) controller.error(new Error('broken stream'));
          this.begun = true;
          controller.enqueue(bytes('begun'));
        },
      }),
    ),
  '/abort': async (request) => {
    aborts.push('asked');
    await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
    aborts.push(request.signal.reason.name);
    return new Response('nobody reads this');
  },
  '/later': async (request) => {
    setKey('begun', request.url);
    await later(Number(new URL(request.url).searchParams.get('ms')));
    return new Response('in the end');
  },
  '/exit': () => process.exit(1),
  '/aborts': () => Response.json(aborts),
  '/endless': (request) => {
    const state = { pulled: 0, cancelled: false };
    aborts.push(state);
    return new Response(
      new ReadableStream({
        pull(controller) {
          state.pulled += 65_536;
          controller.enqueue(new Uint8Array(65_536));
        },
        cancel() {
          state.cancelled = true;
        },
      }),
    );
  },
};

export function fetch(request, info) {
  const { pathname } = new URL(request.url);
  const route = routes[pathname];
  return route === undefined ? new Response('no such page', { status: 404 }) : route(request, info);
}

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
