// Tasks over Sockety, with the client of Millrace or of the original.
import { randomBytes } from 'node:crypto';
import { readAll } from './read-all.mjs';
import { CONNECTIONS } from './rows.mjs';

/** `task` runs a task and resolves at its end; `count` requests the server's counts on every connection. */
export async function open({ port, row, file, module }) {
  const api = await import(module);
  const heartbeat = row.name === 'heartbeat' ? await heartbeatOf(api) : undefined;
  const make = () => api.connect({ port, host: '127.0.0.1' });
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => make().ready()));
  const producer = heartbeat ?? (await draftOf(api, row, file)).optimize()();
  const ask = api.Draft.for('count').optimize();
  let turn = 0;
  const next = () => connections[turn++ % CONNECTIONS];
  return {
    // a heartbeat has no handler, but is one byte
    counted: heartbeat ? 'bytes' : 'messages',
    task: row.acknowledged ? () => answered(next().send(producer).response(), row) : () => next().pass(producer),
    count: () =>
      Promise.all(
        connections.map(async (connection) => {
          const { data } = await connection.send(ask()).response();
          const chunks = [];
          await readAll(data, data.size, (chunk) => chunks.push(chunk));
          return JSON.parse(Buffer.concat(chunks).toString());
        }),
      ),
    close: () => {
      for (const connection of connections) connection.close(true);
    },
  };
}

async function answered(promise, row) {
  const answer = await promise;
  if (row.name === 'regular' ? typeof answer === 'number' : answer !== 0) throw new Error(`wrong answer: ${answer}`);
}

async function draftOf({ Draft, FileTransfer }, { name, contents, from, bytes, acknowledged }, file) {
  if (name === 'none') return Draft.for('ping');
  if (name === 'short') return Draft.for('fast');
  if (name === 'regular') return Draft.for('echo');
  const draft = Draft.for(acknowledged ? 'read' : 'ping');
  if (contents === 'data') return draft.data(randomBytes(bytes));
  const memory = () => FileTransfer.buffer(randomBytes(bytes), 'file-1.txt');
  return draft.files([from === 'fs' ? await FileTransfer.fs(file, 'file-1.txt') : memory()]);
}

/** In the original, only the package `@sockety/core` exports it. */
async function heartbeatOf(api) {
  return api.heartbeat ?? (await import('@sockety/core')).heartbeat;
}
