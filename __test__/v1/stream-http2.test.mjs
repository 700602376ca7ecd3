// Streams that speak millrace.v1 over HTTP/2, and POSTs that come in several pieces.
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { within } from '../support/deadline.mjs';
import { ask, openSession } from '../support/http2.mjs';
import { needing } from '../support/needing.mjs';
import { ownServer, worker } from '../support/server.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

/** The events of a stream, one after the other, as `[header, payload]`. */
async function* events(stream) {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      if (lines[0] === ':') continue;
      const [header, ...payload] = lines.map((line) => line.replace(/^data: /, ''));
      yield [JSON.parse(header), ...(payload.length > 0 ? [payload.join('\n')] : [])];
    }
  }
}

test('a POST in several pieces is one message, up to messageBytes', async (t) => {
  const own = await ownServer(t, {
    workerPath: worker('no-handlers'),
    threads: 1,
    tls: identity.files,
    events: true,
    channels: { 'room:*': { clients: { subscribe: true, publish: true } } },
    limits: { messageBytes: 100_000 },
  });
  const session = await openSession(t, own.addresses[0], { ca: authority.ca });
  const reading = session.request({ ':path': '/events?v=1', accept: 'text/event-stream' });
  reading.on('error', () => {});
  const all = events(reading);
  const next = async () => (await within(all.next(), 'an event')).value;
  const [{ s, k }] = await next();
  const headers = { ':method': 'POST', ':path': '/events?v=1', 'millrace-socket': `${s}.${k}` };
  t.is((await ask(session, headers, '{"t":"sub","id":1,"c":"room:a"}')).status, 204);
  t.deepEqual(await next(), [{ t: 'ok', id: 1 }]);
  /** Sends each piece in frames of its own. */
  const post = async (pieces) => {
    const stream = session.request(headers);
    const answered = new Promise((resolve) => stream.once('response', resolve));
    stream.on('error', () => {});
    stream.resume();
    for (const piece of pieces) await new Promise((resolve) => stream.write(piece, resolve));
    stream.end();
    return (await within(answered, 'an answer'))[':status'];
  };
  const head = ['{"t":"pub",', '"c":"room', ':a"}\n'];
  const payload = Array.from({ length: 60 }, (_, index) => `${index} `.repeat(500));
  t.is(await post([...head, ...payload]), 204);
  t.deepEqual(await next(), [{ c: 'room:a' }, payload.join('')]);
  const rest = 100_000 - head.join('').length;
  const filler = ['x'.repeat(50_000), 'x'.repeat(rest - 50_001), 'x'];
  t.is(await post([...head, ...filler]), 204);
  t.deepEqual(await next(), [{ c: 'room:a' }, 'x'.repeat(rest)]);
  t.is(await post([...head, ...filler, 'x']), 413);
  t.is(await post(['{"t":"ping"}']), 204);
  t.deepEqual(await next(), [{ t: 'pong' }]);
});
