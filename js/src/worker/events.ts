/**
 * Calls what handles a protocol's events: the protocol's own code, which is loaded at the first such event, or a
 * handler of the module. Does not wait for promises.
 */

import type { ProtocolHost, ProtocolWorker } from '../protocols/protocol.js';
import {
  EVENT_HANDLERS,
  EVENT_MESSAGE_STREAM,
  KIND_BINARY,
  KIND_CLOSE,
  KIND_CONGESTED,
  KIND_DRAIN,
  KIND_EVENT,
  KIND_OPEN,
  KIND_TEXT,
} from './kinds.generated.js';
import { ArrivingMessage } from './message-stream.js';
import type { LoadedModule } from './module.js';
import { KIND_MASK, type SocketEvent } from './record.js';

/** See the module. */
export class Events {
  readonly #host: ProtocolHost;
  #own: ProtocolWorker | undefined;

  constructor(host: ProtocolHost) {
    this.#host = host;
  }

  /** Whether the protocol's own code handles an event, and not only a handler. */
  isOwn(number: number): boolean {
    this.#own ??= ownCode(this.#host);
    return this.#own.events[number] !== undefined;
  }

  /** Prepares an event as soon as it has arrived, also if it has to wait. */
  arrived(event: SocketEvent): void {
    if (event.number !== EVENT_MESSAGE_STREAM) return;
    const { worker, transfers } = this.#host;
    const { fields } = event;
    const transfer = fields.readUInt32LE(8) * 2 ** 32 + fields.readUInt32LE(4);
    event.message = new ArrivingMessage(worker, transfers, transfer, fields.readUInt32LE(0) === 1);
  }

  /** Calls what handles an event, if anything does, and returns its result. */
  call(event: SocketEvent): unknown {
    const { number, socketId, token } = event;
    const { message } = event;
    if (message !== undefined) {
      return message.handled(this.#host.module.handleMessageStream?.(message, socketId, token));
    }
    const own = this.#own?.events[number];
    if (own !== undefined) return own(event);
    const handlers: Partial<Record<string, unknown>> = this.#host.module as LoadedModule & Record<string, unknown>;
    const handler = handlers[EVENT_HANDLERS[number] ?? ''] as Handler | undefined;
    return handler?.(socketId, token, ...argumentsOf(event));
  }

  /** Reports to the protocols' own code that a socket is closed. */
  closed(socketId: number, code: number, reason: string): void {
    this.#own?.closed(socketId, code, reason);
  }
}

/** Loads the protocols' own code on demand, because most workers never get an event. */
function ownCode(host: ProtocolHost): ProtocolWorker {
  const protocols: typeof import('../protocols/protocol-workers.js') = require('../protocols/protocol-workers.js');
  return protocols.protocolWorker(host);
}

/** The kind of a protocol's event, with its number. */
export function kindOfEvent(number: number): number {
  return KIND_EVENT | (number << NUMBER_SHIFT);
}

/**
 * The name that errors give the handler of an event, by the event's kind and, for events of protocols, their number.
 */
export function nameOfEvent(kind: number): string {
  const number = kind >>> NUMBER_SHIFT;
  return NAMES[kind & KIND_MASK] ?? EVENT_HANDLERS[number] ?? `event ${number}`;
}

const NUMBER_SHIFT = 4;

const NAMES: Record<number, string> = {
  [KIND_OPEN]: 'handleOpen',
  [KIND_TEXT]: 'handleTextMessage',
  [KIND_BINARY]: 'handleBinaryMessage',
  [KIND_CLOSE]: 'handleClose',
  [KIND_CONGESTED]: 'handleCongested',
  [KIND_DRAIN]: 'handleDrain',
};

type Handler = (socketId: number, token: unknown, ...fields: unknown[]) => unknown;

/** The words of an event's fields as numbers, and the payload if it is not empty. */
function argumentsOf({ fields, payload }: SocketEvent): unknown[] {
  const given: unknown[] = [];
  for (let at = 0; at + 4 <= fields.length; at += 4) given.push(fields.readUInt32LE(at));
  if (payload.length > 0) given.push(payload);
  return given;
}
