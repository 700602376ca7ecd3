/** The messages between clients and the server. */

/** A message to everyone in a room. */
export interface Message {
  from: string;
  text: string;
}

/** Checks input, which is `unknown` until then. Returns undefined if it is not a valid message. */
export function readMessage(value: unknown): Message | undefined {
  const { from, text } = Object(value) as Record<string, unknown>;
  if (typeof from !== 'string' || typeof text !== 'string' || text.trim() === '') return undefined;
  return { from, text: text.trim() };
}
