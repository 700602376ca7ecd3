// All programs by name, and one listener for all of them: the header `x-program` names the program of a request.
import * as application from './application.mjs';
import * as middlewares from './middlewares.mjs';
import * as request from './request.mjs';
import * as response from './response.mjs';
import * as streams from './streams.mjs';

/** By name: `make` returns its listener, `requests` has `[method and target, headers, body, trailers]`. */
export const PROGRAMS = { ...application, ...request, ...response, ...streams, ...middlewares };

/** Programs are made at their first request. */
export function listenerOf(programs) {
  const made = new Map();
  return function listener(req, res) {
    const name = req.headers['x-program'];
    const known = made.get(name);
    if (known !== undefined) return known.call(this, req, res);
    Promise.resolve(programs[name].make()).then((program) => {
      made.set(name, program);
      program.call(this, req, res);
    });
  };
}
