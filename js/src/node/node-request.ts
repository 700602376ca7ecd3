/**
 * One request for a Node listener, and its answer. Creates Node's own `IncomingMessage` and `ServerResponse` and does
 * for them what `http.Server` does. `ServerResponse` writes the head and body of the answer.
 */

import type { IncomingMessage, Server } from 'node:http';
import type { MillraceError } from '../errors.js';
import type { MessageExchange, MessageSink } from '../worker/exchange.js';
import { FIRST_CREDIT, WINDOW } from '../worker/incoming.js';
import {
  addLines,
  closeResponse,
  drain,
  emitRequest,
  hasExpectation,
  type Incoming,
  type Making,
  type Outgoing,
  reset,
  staysOpen,
} from './node-members.js';
import { isLatin1, isUtf8, joined, type Parts } from './parts.js';
import { type Carrier, type Done, RequestSocket, SecureRequestSocket } from './socket.js';

/** A server, and what it makes requests and responses of. */
export interface Host {
  readonly server: Server;
  readonly making: Making;
}

/** Calls the listeners of a server. Errors that they throw are left to the caller. */
export function serve(exchange: MessageExchange, host: Host): void {
  const service = new Service(exchange, host);
  try {
    emitRequest(host.server, service.request, service.response, service.expects);
  } finally {
    service.begin();
  }
}

/** Reports that a listener's promise was rejected. */
export function failed(request: IncomingMessage, error: unknown): void {
  const { socket } = request as { socket: unknown };
  if (socket instanceof RequestSocket) socket.failed(error);
}

/** See the module. */
class Service implements Carrier, MessageSink {
  readonly #exchange: MessageExchange;
  readonly #socket: RequestSocket;
  readonly request: Incoming;
  readonly response: Outgoing;
  /** Whether the request has an expectation. */
  readonly expects: boolean;
  /** Data that was written and not passed on yet. */
  #parts: Parts = [];
  #partBytes = 0;
  /** Bytes passed on since the native side last reported that few were left. */
  #ahead = 0;
  #waitsForRoom = false;
  /** Whether a writer was told to wait. */
  #toldToWait = false;
  #done: Done[] = [];
  #scheduled = false;
  /** Bytes of the request's body that were read and not requested again yet. */
  #owed = WINDOW - FIRST_CREDIT;
  /** Whether the listener has returned. */
  #begun = false;
  /** Whether the response is finished. */
  #finished = false;
  #closed = false;

  constructor(exchange: MessageExchange, { server, making }: Host) {
    this.#exchange = exchange;
    exchange.sink = this;
    const socket = exchange.encrypted ? new SecureRequestSocket(this, server) : new RequestSocket(this, server);
    this.#socket = socket;
    const request = new making.Request(socket as never);
    this.request = request;
    const { httpVersion } = exchange;
    request.method = exchange.method;
    request.url = exchange.target;
    request.httpVersion = httpVersion;
    request.upgrade = false;
    // the listener decides by the version how it writes the answer, and that is always HTTP/1.1
    request.httpVersionMajor = 1;
    request.httpVersionMinor = httpVersion === '1.0' ? 0 : 1;
    if (making.joins) request.joinDuplicateHeaders = true;
    const { headerList } = exchange;
    addLines(request, headerList);
    this.expects = hasExpectation(headerList, httpVersion);
    const response = new making.Response(request, making.options);
    this.response = response;
    making.mark(response);
    if (httpVersion === '2.0') {
      request.httpVersionMajor = 2;
      request.httpVersionMinor = 0;
    }
    // the gateway decides whether the connection stays open
    response.shouldKeepAlive = staysOpen(headerList, httpVersion);
    response._removedConnection = true;
    socket.on('close', () => this.#socketClosed());
    socket.on('error', ignore);
    response.assignSocket(socket as never);
    response.on('finish', () => this.#responseFinished());
  }

  get ip(): string {
    return this.#exchange.ip;
  }

  get port(): number {
    return this.#exchange.port;
  }

  get local(): { address: string; port: number } | undefined {
    return this.#exchange.local;
  }

  bytesRead = 0;
  bytesWritten = 0;

  get waiting(): number {
    // data that is not corked counts as taken, as with the kernel
    return (this.#socket.writableCorked > 0 ? this.#partBytes : 0) + (this.#waitsForRoom ? this.#ahead : 0);
  }

  /**
   * The listener has returned: passes it the data that arrived with the request, as Node's parser does at this point.
   */
  begin(): void {
    this.#begun = true;
    const { content, streams } = this.#exchange;
    if (!streams) {
      if (content !== undefined && content.length > 0) {
        this.bytesRead += content.length;
        this.request.push(content);
      }
      this.#complete();
    }
    this.#flush();
  }

  write(chunk: string | Uint8Array, encoding: BufferEncoding | undefined, done: Done | undefined): boolean {
    if (chunk.length > 0) {
      this.#parts.push(chunk, encoding);
      this.#partBytes += chunk.length;
    }
    if (done !== undefined) this.#done.push(done);
    this.#settleSoon();
    const goesOn = !this.#waitsForRoom && this.#partBytes < this.#socket.writableHighWaterMark;
    if (!goesOn) this.#toldToWait = true;
    return goesOn;
  }

  uncorked(): void {
    if (this.#parts.length > 0 || this.#done.length > 0) this.#settleSoon();
  }

  resume(): void {
    this.#took(0);
  }

  cut(): void {
    this.#flush(false);
    // corked data is lost with its socket
    this.#parts = [];
    this.#partBytes = 0;
    this.#exchange.cut();
  }

  timeout(): void {
    const { request, response } = this;
    const socket = this.#socket;
    const heard = [
      !request.complete && request.emit('timeout', socket),
      !this.#finished && response.emit('timeout', socket),
      socket.server.emit('timeout', socket),
    ];
    if (!heard.includes(true)) socket.destroy();
  }

  failed(error: unknown): void {
    this.#exchange.failed(error);
  }

  // What arrives.

  piece(piece: Uint8Array, last: boolean): void {
    this.#try(() => {
      const { request } = this;
      this.#socket.touch();
      this.bytesRead += piece.length;
      const wants = piece.length === 0 || request._dumped === true || request.push(piece);
      if (last) this.#complete();
      else if (wants) this.#took(piece.length);
      else this.#owed += piece.length;
    });
  }

  trailers(list: string[]): void {
    this.#try(() => {
      this.request.complete = true;
      addLines(this.request, list);
      this.#complete();
    });
  }

  broken(error: MillraceError): void {
    this.#try(() => {
      if (error.code === 'ERR_MILLRACE_BODY_TOO_LARGE') this.giveUp(413, error.message);
      this.#socket.destroy();
    });
  }

  room(): void {
    this.#try(() => {
      this.#waitsForRoom = false;
      this.#ahead = 0;
      this.#tellDone();
    });
  }

  gone(): void {
    this.#socket.destroy();
  }

  giveUp(status: number, text: string): void {
    const { response } = this;
    if (response.headersSent || this.#finished) {
      this.#socket.destroy();
      return;
    }
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.writeHead(status, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  }

  /** Calls the callbacks of data that was written. */
  settle(): void {
    this.#scheduled = false;
    if (this.#socket.writableCorked > 0) return;
    this.#try(() => {
      this.#flush();
      if (!this.#waitsForRoom) this.#tellDone();
    });
  }

  #settleSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(settle, this);
  }

  /** The request's body is complete. */
  #complete(): void {
    const { request } = this;
    request.complete = true;
    request.push(null);
    // the end of an answer that was finished before waits for the body
    if (this.#finished) this.#end();
  }

  /** Counts bytes of the body that were read. */
  #took(bytes: number): void {
    this.#owed += bytes;
    if (this.#owed < ENOUGH || this.request.complete || !this.#exchange.streams) return;
    this.#exchange.pull(this.#owed);
    this.#owed = 0;
  }

  /** Passes on the data that was written and, with `mayEnd`, the end of the answer if it is finished. */
  #flush(mayEnd = true): void {
    if (!this.#begun || this.#parts.length === 0 || this.#socket.writableCorked > 0) return;
    const ends = mayEnd && this.response.writableEnded && this.#mayEnd() && !this.#exchange.over;
    const parts = this.#parts;
    this.#parts = [];
    this.#ahead += this.#partBytes;
    this.bytesWritten += this.#partBytes;
    this.#partBytes = 0;
    const [first, coding, second, secondCoding] = parts;
    const isText = typeof first === 'string';
    if (
      parts.length <= 4 &&
      (!isText || isUtf8(coding) || isLatin1(coding)) &&
      (typeof second !== 'string' || isUtf8(secondCoding))
    ) {
      this.#exchange.write(first as string, second, ends, isText && isLatin1(coding));
    } else {
      this.#exchange.write(joined(parts), undefined, ends, false);
    }
    if (this.#ahead > MOST_AHEAD && !this.#waitsForRoom && !ends) {
      this.#waitsForRoom = true;
      this.#exchange.wantRoom();
    }
  }

  /** Whether the request is done, too: a listener may read its body after its answer. */
  #mayEnd(): boolean {
    return this.request.complete || this.request._consumed !== true;
  }

  #tellDone(): void {
    const done = this.#done;
    if (done.length > 0) {
      this.#done = [];
      for (const one of done) one();
    }
    if (!this.#toldToWait || this.#waitsForRoom) return;
    this.#toldToWait = false;
    if (!this.#finished) drain(this.response, this.#socket);
  }

  /** Does what `http.Server` does when a response is finished. */
  #responseFinished(): void {
    if (this.#finished) return;
    this.#finished = true;
    const { request, response } = this;
    this.#socket.settle();
    if (!request._consumed) request._dump?.();
    response.detachSocket(this.#socket as never);
    if (this.#mayEnd()) this.#end();
    process.nextTick(closeResponse, response);
  }

  /** Ends the exchange: nothing more is sent or read. */
  #end(): void {
    if (!this.#exchange.over) this.#exchange.write('', undefined, true, false);
    const { request } = this;
    if (!request.complete) {
      // a body that the listener does not read is not read here, either
      request.complete = true;
      request.push(null);
    }
    // other code waits for the event
    if (this.#socket.listenerCount('close') > 1) this.#socket.destroy();
  }

  #socketClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#finished && this.request.complete) return;
    this.#try(() => {
      const { request } = this;
      if (!this.#finished) request.destroy(reset());
      else if (!request.complete) request.destroy();
    });
  }

  /** Runs callbacks of the listener and reports their errors. */
  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#exchange.failed(error);
    }
  }
}

function settle(service: Service): void {
  service.settle();
}

function ignore(): void {}

/** Bytes that the native side may hold before it is asked to report when few are left. */
const MOST_AHEAD = 256 * 1024;

/** The smallest number of bytes to request in one call. */
const ENOUGH = 32 * 1024;
