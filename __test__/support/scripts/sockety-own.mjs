import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import {
  connect,
  createServer,
  Draft,
  FastReply,
  FileTransfer,
  heartbeat,
  MessageHandler,
  ResponseDraft,
  series,
} from '../millrace-sockety.mjs';
import { freePort } from '../ports.mjs';

// A server and a client of Sockety in this runtime: every kind of content in both directions, answers, and the end.
export default async function socketyOwn() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-sockety-'));
  const file = path.join(folder, 'one.bin');
  const bytes = Buffer.alloc(300_000, 'abc');
  await writeFile(file, bytes);
  const all = async (readable) => Buffer.concat(await readable.toArray());
  const back = new ResponseDraft().data().files();
  const seen = [];
  const handler = new MessageHandler()
    .action('ping', () => FastReply.Accept)
    .action('all', async (message) => {
      const [data, streamed, first] = await Promise.all([
        message.dataBuffer(),
        all(message.stream),
        all(message.files[0]),
      ]);
      message.respond(back({ data: Buffer.concat([data, streamed]), files: [FileTransfer.buffer(first, 'back')] }));
    })
    .use(() => FastReply.NotImplemented);
  const server = createServer({ timeout: 400 }, (connection) => {
    connection.on('message', handler);
    connection.on('goAway', () => seen.push('goAway'));
    connection.on('close', () => seen.push('close'));
  });
  const port = await freePort();
  await server.listen(port, '127.0.0.1');
  const client = await connect({ port, host: '127.0.0.1', timeout: 400 }).ready();
  await client.pass(series(heartbeat, Draft.for('unknown')()));
  const code = await client.send(Draft.for('ping')()).response();
  const none = await client.send(Draft.for('none')()).response();
  const files = [await FileTransfer.fs(file)];
  const request = client.send(Draft.for('all').data().files().stream()({ data: bytes, files }));
  request.stream.write('streamed ');
  request.stream.end('text');
  const answer = await request.response();
  const [data, [first]] = await Promise.all([answer.dataBuffer(), Promise.all(answer.files.map(all))]);
  await request.sent();
  // longer than the timeouts of both: heartbeats keep the connection open
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const alive = await client.send(Draft.for('ping')()).response();
  await client.close();
  await server.close();
  const refused = await new Promise((resolve) => {
    connect(port, '127.0.0.1').on('error', ({ code }) => resolve(code));
  });
  await rm(folder, { recursive: true });
  return {
    codes: [code, none, alive],
    data: data.equals(Buffer.concat([bytes, Buffer.from('streamed text')])),
    file: first.equals(bytes),
    seen,
    refused,
  };
}
