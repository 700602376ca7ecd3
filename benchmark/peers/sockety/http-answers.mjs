// What a server over HTTP answers in `sockety`, of either version. Every body is read to its end first.
import { bytesRead } from './bytes-read.mjs';

let handled = 0;
/** Requests whose bodies are still coming. */
let reading = 0;
const waiting = [];

/** Counts something that is no request. */
export function count() {
  handled++;
}

/** Answers one request by `respond(status, body)`. `size` is the length that was announced. */
export function answer(path, size, body, respond) {
  if (path === '/count') {
    // of requests that nobody waited for, some may still be coming
    if (reading > 0) waiting.push(() => tell(respond));
    else tell(respond);
    return;
  }
  handled++;
  reading++;
  let came = 0;
  body.on('data', (chunk) => {
    came += chunk.length;
  });
  body.once('end', () => {
    respond(came === size ? 200 : 400, path === '/regular' ? 'pong' : '');
    reading--;
    if (reading === 0) for (const next of waiting.splice(0)) next();
  });
}

function tell(respond) {
  respond(200, JSON.stringify({ worker: 0, handled, bytes: bytesRead() }));
}
