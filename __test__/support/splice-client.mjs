// Functions for tests of the splice client.
import test from 'ava';
import { WebSocket } from 'ws';
import { within } from './deadline.mjs';
import { connect } from './millrace-splice-client.mjs';
import { listener, multiplexer } from './splice-multiplexer.mjs';

/** A client of a multiplexer, closed with the test. */
export function client(t, { url }, options) {
  const mux = connect(url, { WebSocket, ...options });
  t.teardown(() => mux.close());
  return mux;
}

/** The listener, and a small multiplexer for behaviour that the listener does not have. */
const MULTIPLEXERS = { 'in the tests': multiplexer, 'a listener': listener };

/** Declares a test for each of the two; `body` gets a function that starts one. */
export function each(title, body) {
  for (const [name, make] of Object.entries(MULTIPLEXERS)) {
    test(`${title} (${name})`, (t) => body(t, (options) => make(t, options)));
  }
}

/** The next event of a type. */
export const next = (target, type) =>
  within(new Promise((resolve) => target.addEventListener(type, resolve, { once: true })), type);

/** All events of a socket, in order. */
export function told(socket) {
  const events = [];
  for (const type of ['open', 'message', 'error', 'close', 'reconnecting']) {
    socket.addEventListener(type, ({ data, code, reason, wasClean, message }) => {
      if (type === 'message') events.push(data);
      else if (type === 'close') events.push([type, code, reason, wasClean]);
      else if (type === 'error') events.push([type, code, message !== undefined]);
      else events.push(type);
    });
  }
  return events;
}

/** An open socket; rejects with all its events if it fails. */
export async function opened(mux, url, options) {
  const socket = mux.open(url, options);
  const events = told(socket);
  await Promise.race([next(socket, 'open'), next(socket, 'close')]);
  if (socket.readyState === 3) throw new Error(`not opened: ${JSON.stringify(events)}`);
  return socket;
}

/** A call that throws a DOMException of a name. */
export function throwsNamed(t, call, name) {
  const error = t.throws(call, { any: true });
  t.true(error instanceof DOMException && error.message.length > 0);
  t.is(error.name, name);
}
