// Hooks of crossws for every rule that the tests of the adapter check. Clients send commands as text.
import { threadId } from 'node:worker_threads';

import millraceAdapter from '../millrace-crossws.mjs';

/** The events of peers that are closed, for `GET /closed`. */
const closed = [];
/** What the hook `error` got. */
const failures = [];
/** What ends hooks `upgrade` that wait, for `GET /held` and `GET /go`. */
const held = [];
/** What was sent by the command `stream`. */
const streams = [];

const describe = (peer) => ({
  id: peer.id,
  text: `${peer}`,
  namespace: peer.namespace,
  remoteAddress: peer.remoteAddress,
  bufferedAmount: peer.bufferedAmount,
  context: peer.context,
  topics: [...peer.topics],
  request: { url: peer.request.url, method: peer.request.method, headers: Object.fromEntries(peer.request.headers) },
  websocket: {
    readyState: peer.websocket.readyState,
    protocol: peer.websocket.protocol,
    extensions: peer.websocket.extensions,
    url: peer.websocket.url,
    bufferedAmount: peer.websocket.bufferedAmount,
  },
  threadId,
});

const commands = {
  describe: (peer) => peer.send(describe(peer)),
  peers: (peer) => peer.send({ peers: [...peer.peers].map(({ id }) => id) }),
  binary: (peer) => peer.send(new TextEncoder().encode('some bytes')),
  kinds: (peer) => {
    for (const data of [undefined, null, 12, true, 7n, { a: [1] }, new Uint8Array([1, 2]).buffer, '']) peer.send(data);
    peer.send(new DataView(new Uint8Array([9, 8, 7]).buffer, 1));
    try {
      peer.send(new Map());
    } catch (error) {
      peer.send(`${error.name}: ${error.message}`);
    }
  },
  subscribe: (peer, topic) => {
    peer.subscribe(topic);
    peer.subscribe(topic);
    peer.send('subscribed');
  },
  unsubscribe: (peer, topic) => {
    peer.unsubscribe(topic);
    peer.send('unsubscribed');
  },
  publish: (peer, topic, text) => {
    peer.publish(topic, text);
    peer.send('published');
  },
  object: (peer, topic) => peer.publish(topic, { hello: 'world' }),
  close: (peer, code, reason) => {
    peer.close(Number(code), reason);
    peer.send('too late');
  },
  socket: (peer) => {
    peer.websocket.send('by the socket');
    peer.websocket.close(4002, 'by the socket');
  },
  terminate: (peer) => peer.terminate(),
  drained: async (peer) => {
    await peer.waitForDrain({ pollInterval: 10 });
    peer.send('drained');
  },
  /** Sends messages, and waits after each until little is queued. */
  stream: async (peer, count, bytes, threshold) => {
    const stream = { id: peer.id, sent: 0, most: 0, peer };
    streams.push(stream);
    const chunk = new Uint8Array(Number(bytes));
    while (stream.sent < count) {
      peer.send(chunk);
      stream.sent++;
      await peer.waitForDrain({ threshold: Number(threshold), pollInterval: 5 });
      stream.most = Math.max(stream.most, peer.bufferedAmount);
    }
    peer.send({ sent: stream.sent, most: stream.most });
  },
  ping: (peer, data) => peer.ping(data),
  throw: () => {
    throw new Error('a hook threw');
  },
  reject: async () => {
    await undefined;
    throw new Error('a hook rejected');
  },
  slow: async (peer) => {
    // a later message ends this one
    await new Promise((resolve) => {
      peer.context.release = resolve;
    });
    peer.send('released');
  },
  release: (peer) => peer.context.release(),
};

const forms = (message) => ({
  text: message.text(),
  string: String(message),
  bytes: [...message.uint8Array()],
  buffer: [...new Uint8Array(message.arrayBuffer())],
  isWhole: message.arrayBuffer().byteLength === message.uint8Array().byteLength,
  ids: [message.id, message.id],
  rawData: typeof message.rawData,
  peer: message.peer.id,
});

const hooks = {
  upgrade(request) {
    const { searchParams } = new URL(request.url);
    const asked = searchParams.get('upgrade');
    if (asked === 'throw') throw refusal();
    if (asked === 'carry') throw Object.assign(new Error('refused'), { response: refusal() });
    if (asked === 'return') return refusal();
    if (asked === 'late') return Promise.reject(refusal());
    if (asked === 'fail') throw new Error('upgrade failed');
    if (asked === 'ok') return new Response('hello');
    if (asked === 'handled') return { handled: true };
    if (asked === 'nothing') return undefined;
    if (asked === 'plain') return { perMessageDeflate: false };
    if (asked === 'deflate') return { perMessageDeflate: { level: 3 } };
    if (asked === 'header') return { headers: { 'sec-websocket-accept': 'x' } };
    if (asked === 'held') return new Promise((resolve) => held.push(resolve));
    if (asked === 'slow')
      return new Promise((resolve) => setTimeout(() => resolve({ context: { test: 'slow' } }), 100));
    const headers = new Headers({ 'x-powered-by': 'hooks' });
    headers.append('set-cookie', 'a=1; Secure');
    headers.append('set-cookie', 'b=2');
    if (request.headers.get('sec-websocket-protocol') === 'supported')
      headers.set('sec-websocket-protocol', 'supported');
    const namespace = searchParams.get('namespace');
    return {
      headers,
      context: { test: '1' },
      ...(namespace && { namespace }),
      ...(asked === 'protocol' && { protocol: searchParams.get('protocol') }),
    };
  },
  open(peer) {
    const asked = new URL(peer.request.url).searchParams.get('open');
    peer.send(`welcome ${peer.id}`);
    if (asked === 'close') peer.close(4001, 'not now');
    if (asked === 'terminate') peer.terminate();
    if (asked === 'throw') throw new Error('open threw');
    peer.subscribe('chat');
    if (asked !== 'quiet') peer.publish('chat', `${peer} joined`);
  },
  message(peer, message) {
    if (typeof message.rawData !== 'string') {
      peer.send(forms(message));
      return undefined;
    }
    const [name, ...given] = message.text().split(' ');
    if (commands[name] !== undefined) return commands[name](peer, ...given);
    if (name === 'forms') peer.send(forms(message));
    else if (name.startsWith('{')) peer.send({ json: message.json() });
    else peer.publish('chat', message.text());
    return undefined;
  },
  close(peer, { code, reason }) {
    closed.push({ id: peer.id, code, reason, readyState: peer.websocket.readyState, among: peer.peers.has(peer) });
  },
  error(peer, error) {
    failures.push({ id: peer.id, name: error.name, message: error.message });
  },
  ping: (peer, data) => peer.send(`ping ${new TextDecoder().decode(data)}`),
  pong: (peer, data) => peer.send(`pong ${new TextDecoder().decode(data)}`),
};

function refusal() {
  return new Response('unauthorized', {
    status: 401,
    headers: { 'x-error': 'unauthorized', 'www-authenticate': 'Bearer realm="hooks"' },
  });
}

const websockets = millraceAdapter({
  hooks,
  handleProtocols: async (offered) => (offered.has('second') ? 'second' : false),
});

const routes = {
  '/peers': () =>
    [...websockets.peers].flatMap(([namespace, peers]) => [...peers].map(({ id }) => `${namespace} ${id}`)),
  '/namespaces': () => [...websockets.peers.keys()],
  '/publish': ({ searchParams }) => {
    const namespace = searchParams.get('namespace');
    websockets.publish(searchParams.get('topic'), searchParams.get('text'), namespace ? { namespace } : undefined);
    return 'published';
  },
  '/closed': () => closed,
  '/held': () => held.length,
  '/go': () => held.splice(0).map((resolve) => resolve({})).length,
  '/failures': () => failures,
  '/streams': () => streams.map(({ peer, ...stream }) => ({ ...stream, queued: peer.bufferedAmount })),
  '/channel': ({ searchParams }) =>
    websockets.channel(searchParams.get('topic'), searchParams.get('namespace') ?? undefined),
  '/close-all': ({ searchParams }) => {
    if (searchParams.has('force')) websockets.closeAll(undefined, undefined, true);
    else websockets.close(4003, 'all of you');
    return [...websockets.peers.values()].flatMap((peers) => [...peers].map(({ websocket }) => websocket.readyState));
  },
};

export default {
  ...websockets.handlers,
  fetch(request) {
    const url = new URL(request.url);
    const route = routes[url.pathname];
    return route === undefined ? new Response('not found', { status: 404 }) : Response.json(route(url));
  },
};
