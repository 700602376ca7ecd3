/**
 * What the events of protocols call: the protocol's own code, which is loaded with the first of them, or a handler of the
 * module. Owns that code; waits for nobody.
 */

import type { ProtocolHost, ProtocolWorker } from '../protocols/protocol.js';
import { EVENT_HANDLERS } from './kinds.generated.js';
import type { LoadedModule } from './module.js';
import type { SocketEvent } from './record.js';

/** See the module. */
export class Events {
  readonly #host: ProtocolHost;
  #own: ProtocolWorker | undefined;

  constructor(host: ProtocolHost) {
    this.#host = host;
  }

  /** Whether an event is for the protocol's own code, not for a handler alone. */
  isOwn(number: number): boolean {
    this.#own ??= ownCode(this.#host);
    return this.#own.events[number] !== undefined;
  }

  /** Calls what an event calls, if anything, and returns what that returned. */
  call(event: SocketEvent): unknown {
    const { number, socketId, token } = event;
    const own = this.#own?.events[number];
    if (own !== undefined) return own(event);
    const handlers: Partial<Record<string, unknown>> = this.#host.module as LoadedModule & Record<string, unknown>;
    const handler = handlers[EVENT_HANDLERS[number] ?? ''] as Handler | undefined;
    return handler?.(socketId, token, ...argumentsOf(event));
  }

  /** A socket is gone. */
  closed(socketId: number, code: number, reason: string): void {
    this.#own?.closed(socketId, code, reason);
  }
}

/** Loaded here, because most workers never get an event. */
function ownCode(host: ProtocolHost): ProtocolWorker {
  const protocols: typeof import('../protocols/protocol-workers.js') = require('../protocols/protocol-workers.js');
  return protocols.protocolWorker(host);
}

/** What an error says failed. */
export function nameOfEvent(number: number): string {
  return EVENT_HANDLERS[number] ?? `event ${number}`;
}

type Handler = (socketId: number, token: unknown, ...fields: unknown[]) => unknown;

/** Each word of the fields, and the payload if there is one. */
function argumentsOf({ fields, payload }: SocketEvent): unknown[] {
  const given: unknown[] = [];
  for (let at = 0; at + 4 <= fields.length; at += 4) given.push(fields.readUInt32LE(at));
  if (payload.length > 0) given.push(payload);
  return given;
}
