/**
 * What the events of protocols call: a handler of the module, or the protocol's own code, which is loaded with the first
 * of them. Owns that code; waits for nobody.
 */

import type { ProtocolEvents } from '../protocols/protocol.js';
import { EVENT_HANDLERS } from './kinds.generated.js';
import type { LoadedModule } from './module.js';
import type { SocketEvent } from './record.js';

/** See the module. */
export class Events {
  readonly #module: LoadedModule;
  #own: ProtocolEvents | undefined;

  constructor(module: LoadedModule) {
    this.#module = module;
  }

  /** Calls what an event calls, if anything, and returns what that returned. */
  call(event: SocketEvent, socketId: number, token: Uint8Array | undefined): unknown {
    const name = EVENT_HANDLERS[event.number];
    if (name === undefined) {
      this.#own ??= ownEvents();
      const { fields, payload } = event;
      return this.#own[event.number]?.({ socketId, token, fields, payload });
    }
    const handler = (this.#module as Readonly<Record<string, unknown>>)[name] as Handler | undefined;
    return handler?.(socketId, token, ...argumentsOf(event));
  }
}

/** Loaded here, because most workers never get one. */
function ownEvents(): ProtocolEvents {
  const protocols: typeof import('../protocols/events.js') = require('../protocols/events.js');
  return protocols.protocolEvents();
}

/** What an error says failed. */
export function nameOfEvent(number: number): string {
  return EVENT_HANDLERS[number] ?? `event ${number}`;
}

type Handler = (socketId: number, token: Uint8Array | undefined, ...fields: unknown[]) => unknown;

/** Each word of the fields, and the payload if there is one. */
function argumentsOf({ fields, payload }: SocketEvent): unknown[] {
  const given: unknown[] = [];
  for (let at = 0; at + 4 <= fields.length; at += 4) given.push(fields.readUInt32LE(at));
  if (payload.length > 0) given.push(payload);
  return given;
}
