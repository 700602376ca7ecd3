// The answers of the HTTP servers of both versions in `sockety`. They read every body to its end first.
import { bytesRead } from './bytes-read.mjs';

let handled = 0;
/** Requests whose bodies have not arrived completely. */
let reading = 0;
const waiting = [];

/** Counts an event that is not a request. */
export function count() {
  handled++;
}

/** Answers one request by `respond(status, body)`. `size` is the length that was announced. */
export function answer(path, size, body, respond) {
  if (path === '/count') {
    // some requests for which no client waits may still be arriving
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
