// A worker module in TypeScript, for runtimes that run it without a build: it only uses types that can be erased.
import { send, subscribe } from '../millrace.mjs';

interface Greeting {
  readonly from: number;
  readonly text: string;
}

export function handleOpen(socketId: number): boolean {
  return subscribe(socketId, 'typed').length === 1;
}

export function handleTextMessage(text: string, socketId: number): void {
  const greeting: Greeting = { from: socketId, text };
  send('typed', JSON.stringify(greeting));
}
