// A connection of Sockety without a server: its calls to the native side are recorded.
import { createRequire } from 'node:module';

import { UUID } from './millrace-sockety.mjs';

const require = createRequire(import.meta.url);
const { Connection } = require('../../js/dist/sockety/sockety-connection.js');
const { Transfers } = require('../../js/dist/worker/transfers.js');

/** A connection over a native side that records calls. */
export function connectionOf(notes = []) {
  const note =
    (name, result) =>
    (...given) => {
      notes.push([name, ...given]);
      return result;
    };
  const names = ['hold', 'release', 'pull', 'endAnswer', 'writeAnswer', 'wantRoom', 'guardFile', 'releaseFile'];
  const worker = Object.fromEntries(names.map((name) => [name, note(name)]));
  const transfers = new Transfers();
  const gateway = { close: note('close', true) };
  const tells = {
    buffer: Buffer.alloc(1000),
    tell: note('tell'),
    pay: () => {},
    place: (...given) => {
      notes.push(['tell', ...given]);
      return 0;
    },
  };
  const link = { worker, transfers, gateway, tells, replies: { flush: () => {} }, socketId: 7, maxDataSize: 1000 };
  const connection = new Connection().opened(link);
  connection.becomesReady(4 * 2 ** 20);
  return { connection, transfers, notes };
}

/** A message whose files have begun, with the ids of their transfers from 100 on. */
export function withFiles(connection, sizes) {
  const head = {
    isResponse: false,
    expectsResponse: false,
    number: 1,
    id: UUID.random(),
    parentId: UUID.random(),
    dataSize: 0,
    totalFilesSize: sizes.reduce((sum, size) => sum + size, 0),
    data: 0,
    stream: 0,
    action: 'files',
    files: sizes.map((size, index) => ({ size, name: `${index}` })),
  };
  const message = connection.receive(head, Buffer.alloc(0));
  for (const index of sizes.keys()) connection.file(1, 100 + index, index);
  return message;
}
