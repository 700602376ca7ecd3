/** What clients and the server say to each other. */

/** What everybody in a room is told. */
export interface Message {
  from: string;
  text: string;
}

/** What came from outside is `unknown` until it has been looked at. Returns undefined if it is no message. */
export function readMessage(value: unknown): Message | undefined {
  const { from, text } = Object(value) as Record<string, unknown>;
  if (typeof from !== 'string' || typeof text !== 'string' || text.trim() === '') return undefined;
  return { from, text: text.trim() };
}
