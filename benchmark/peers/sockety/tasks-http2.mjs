// Tasks over HTTP/2. A heartbeat is a ping with its acknowledgement; without one a task ends when its request is written.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { connect } from 'node:http2';
import { settings } from './http2-settings.mjs';
import { CONNECTIONS } from './rows.mjs';

export async function open({ port, row, file }) {
  const sessions = Array.from({ length: CONNECTIONS }, () => connect(`http://127.0.0.1:${port}`, settings));
  await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
  const content = row.contents && row.from !== 'fs' ? randomBytes(row.bytes) : undefined;
  const send = (session, path, whole) =>
    new Promise((resolve, reject) => {
      const headers = { ':path': path, ':method': 'POST', 'content-length': path === '/read' ? row.bytes : 0 };
      const stream = session.request(headers);
      let text = '';
      stream.once('error', reject);
      stream.once('response', ({ ':status': status }) => {
        if (status !== 200) reject(new Error(`wrong answer: ${status}`));
      });
      stream.on('data', (chunk) => {
        text += chunk;
      });
      stream.once(whole ? 'end' : 'finish', () => resolve(text));
      if (path === '/read' && row.from === 'fs') createReadStream(file).once('error', reject).pipe(stream);
      else stream.end(path === '/read' ? content : undefined);
    });
  const ping = (session) =>
    new Promise((resolve, reject) => {
      const taken = session.ping((error) => (error ? reject(error) : resolve()));
      if (!taken) reject(new Error('the ping was not sent'));
    });
  const path = row.contents ? '/read' : `/${row.name}`;
  let turn = 0;
  const next = () => sessions[turn++ % CONNECTIONS];
  return {
    counted: 'messages',
    task: row.name === 'heartbeat' ? () => ping(next()) : () => send(next(), path, row.acknowledged),
    count: async () =>
      (await Promise.all(sessions.map((session) => send(session, '/count', true)))).map((text) => JSON.parse(text)),
    close() {
      for (const session of sessions) session.destroy();
    },
  };
}
