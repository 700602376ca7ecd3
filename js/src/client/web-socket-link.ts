/** A link to the server over a WebSocket. */

import type { SocketClass } from './client-settings.js';
import { decode, type Header, type Payload } from './v1-message.js';

/** What a link tells. After `lost` it tells nothing more. */
export interface LinkListener {
  /** Something arrived, even if it is no message. */
  alive(): void;
  message(header: Header, payload: Payload): void;
  lost(code: number, reason: string): void;
}

/** A connection that carries messages. */
export interface Link {
  send(message: string | Uint8Array): void;
  close(): void;
}

/** @throws {DOMException} of the class, for example for a URL that it does not support */
export function webSocketLink(Class: SocketClass, url: string, protocols: string[], listener: LinkListener): Link {
  const socket = new Class(url, protocols);
  socket.binaryType = 'arraybuffer';
  const on = <Detail>(type: 'message' | 'error' | 'close', call: (event: Detail) => void) =>
    socket.addEventListener(type, call as (event: unknown) => void);
  on('message', ({ data }: { data: string | ArrayBuffer }) => {
    listener.alive();
    let message: ReturnType<typeof decode>;
    try {
      message = decode(data);
    } catch (error) {
      return listener.lost(1006, String(error));
    }
    listener.message(...message);
  });
  on('close', ({ code, reason }: { code: number; reason: string }) => listener.lost(code, reason));
  // `close` would follow, but not in every version of Node.js
  on('error', ({ message = '' }: { message?: string }) => listener.lost(1006, message));
  return {
    send: (message) => {
      // a socket that closes drops messages, and a browser complains in its console
      if (!((socket.readyState as number) > 1)) socket.send(message as never);
    },
    close: () => socket.close(1000),
  };
}
