// A gibibyte through `fetch`, up and down: memory stays flat, because each side is read only as fast as the other.
import http from 'node:http';
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { connectOptions } from '../support/http.mjs';
import { ownServer, worker } from '../support/server.mjs';

const GIBIBYTE = 2 ** 30;
const PIECE = Buffer.alloc(2 ** 18, 'piece');
const options = { workerPath: worker('fetch'), threads: 1, limits: { bodyBytes: GIBIBYTE } };

async function* gibibyte() {
  for (let sent = 0; sent < GIBIBYTE; sent += PIECE.length) yield PIECE;
}

/** How much larger the server gets while `work` runs, at most. */
async function growthDuring(server, work) {
  const { rss: before } = await server.usage();
  let most = before;
  let looking = true;
  const look = (async () => {
    while (looking) {
      most = Math.max(most, (await server.usage()).rss);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  try {
    await work();
  } finally {
    looking = false;
    await look;
  }
  return (most - before) / 2 ** 20;
}

test('an upload of 1 GiB that is read as a stream', async (t) => {
  const server = await ownServer(t, options);
  const [address] = server.addresses;
  await ask(address, '/count', { method: 'POST', body: PIECE });
  const growth = await growthDuring(server, async () => {
    const answer = await ask(address, '/count', { method: 'POST', body: gibibyte(), ms: 600_000 });
    t.is(answer.text, String(GIBIBYTE));
  });
  t.log(`an upload of 1 GiB: memory grew by ${growth.toFixed(1)} MiB at most`);
  t.true(growth < 64, `${growth} MiB`);
});

test('an upload of 1 GiB that is sent back, to a client that reads in its own time', async (t) => {
  const server = await ownServer(t, options);
  const [address] = server.addresses;
  await ask(address, '/echo', { method: 'POST', body: PIECE });
  const growth = await growthDuring(server, async () => {
    t.is(await echoed(address), GIBIBYTE);
  });
  t.log(`an upload of 1 GiB that is sent back: memory grew by ${growth.toFixed(1)} MiB at most`);
  t.true(growth < 256, `${growth} MiB`);
});

/** Uploads and reads at once; pauses at first, so that everything between has to wait. */
function echoed(address) {
  return new Promise((resolve, reject) => {
    const request = http.request({ ...connectOptions(address), path: '/echo', method: 'POST', agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      let received = 0;
      response.on('data', (piece) => {
        received += piece.length;
      });
      response.pause();
      setTimeout(() => response.resume(), 300);
      response.on('end', () => resolve(received));
      response.on('error', reject);
    });
    (async () => {
      for await (const piece of gibibyte()) {
        if (!request.write(piece)) await new Promise((resolve) => request.once('drain', resolve));
      }
      request.end();
    })().catch(reject);
  });
}
