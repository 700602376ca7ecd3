// HTTP/2 to the server under test, with node:http2.
import { once } from 'node:events';
import http2 from 'node:http2';

import { within } from './deadline.mjs';

/** A session that has received the server's settings; closed with the test. */
export async function openSession(t, address, options) {
  const session = http2.connect(`https://${address}`, { servername: 'localhost', ...options });
  t.teardown(() => session.destroy());
  session.on('error', () => {});
  await within(once(session, 'remoteSettings'), 'the settings of the server');
  return session;
}

/** The answer to one request: `{status, headers, body}`, or `{reset}`, the code of RST_STREAM. */
export async function ask(session, headers = {}, body = undefined) {
  const stream = session.request({ ':path': '/', ...headers }, { endStream: body === undefined });
  const answer = { status: 0, headers: {}, body: '' };
  stream.setEncoding('utf8');
  stream.on('response', (found) => Object.assign(answer, { status: found[':status'], headers: found }));
  stream.on('data', (chunk) => {
    answer.body += chunk;
  });
  stream.on('error', () => {});
  if (body !== undefined) stream.end(body);
  await within(once(stream, 'close'), 'the end of a stream');
  return stream.rstCode === 0 ? answer : { ...answer, reset: stream.rstCode };
}
