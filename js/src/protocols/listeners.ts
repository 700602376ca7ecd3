/**
 * The options, handlers and limits of each protocol by its name: the types that `Listener` and `WorkerModule` are made of. Types
 * only.
 */

import type {
  AnswerLimits,
  FileLimits,
  HttpLimits,
  RespLimits,
  SocketyLimits,
  SpliceLimits,
} from '../options/limits.generated.js';
import type { ClientHandlers } from '../v1/client-handlers.js';
import type { HttpListenerOptions } from './http-listener.js';
import type { RespOptions } from './resp-listener.js';
import type { SocketyHandlers, SocketyOptions } from './sockety-listener.js';
import type { SpliceHandlers, SpliceOptions } from './splice-listener.js';
import type { TcpHandlers, TcpOptions } from './tcp-listener.js';

export type {
  AnswerLimits,
  FileLimits,
  HttpLimits,
  RespLimits,
  SocketyLimits,
  SpliceLimits,
} from '../options/limits.generated.js';
export type { ClientHandlers, PublishAnswer, SubscribeAnswer, SubscribeRequest } from '../v1/client-handlers.js';
export type {
  AdminOptions,
  CompressionOptions,
  HttpListenerOptions,
  HttpOptions,
  Origins,
  PathOptions,
  StaticOptions,
} from './http-listener.js';
export type { RespOptions, RespUser } from './resp-listener.js';
export type { SocketyHandlers, SocketyOptions, SocketyPublishForm } from './sockety-listener.js';
export type { SpliceAnswer, SpliceEventName, SpliceHandlers, SpliceOptions, SpliceTarget } from './splice-listener.js';
export type { TcpFraming, TcpHandlers, TcpOptions } from './tcp-listener.js';

/** The types of each protocol. `Token` is the type of the tokens that its handlers get. */
export interface Protocols<Token = Uint8Array> {
  /** HTTP, the default. */ http: ProtocolTypes<
    HttpListenerOptions,
    ClientHandlers<Token>,
    HttpLimits & FileLimits & AnswerLimits
  >;
  /** The Redis protocol. */ resp: ProtocolTypes<RespOptions, NoHandlers, RespLimits>;
  /** Raw TCP. */ tcp: ProtocolTypes<TcpOptions, TcpHandlers<Token>>;
  /** Messages with data, files and streams. */ sockety: ProtocolTypes<
    SocketyOptions,
    SocketyHandlers<Token>,
    SocketyLimits
  >;
  /** Many WebSockets in one. */ splice: ProtocolTypes<SpliceOptions, SpliceHandlers<Token>, HttpLimits & SpliceLimits>;
}

/** The types of a protocol. */
export interface ProtocolTypes<Options, Handlers = NoHandlers, Limits = NoLimits> {
  /** Options of listeners that speak it. */
  options: Options;
  /** Handlers of a worker module, beside those that every protocol calls. */
  handlers: Handlers;
  /** Limits of listeners that speak it, beside those that every listener has. */
  limits: Limits;
}

/** The name of a protocol that a listener can speak. */
export type ProtocolName = keyof Protocols;

/**
 * The handlers that only one protocol calls: part of `WorkerModule`. They are named one by one, because an interface
 * extends this type.
 */
export type ProtocolHandlers<Token = Uint8Array> = Protocols<Token>['http']['handlers'] &
  Protocols<Token>['tcp']['handlers'] &
  Protocols<Token>['sockety']['handlers'] &
  Protocols<Token>['splice']['handlers'];

/** No handlers. */
export type NoHandlers = Record<never, never>;

/** No limits. */
export type NoLimits = Record<never, never>;
