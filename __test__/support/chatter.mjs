// A visitor of the chat example: its channels with the package's client, without its page.
import { WebSocket } from 'ws';

import { until } from './deadline.mjs';
import { createClient } from './millrace-client.mjs';

/**
 * Joins a room. `heard` are the lines that were published there, `moves` who came and went (`+Anna`, `-Anna`), both since
 * the subscription. Rejects if the server refuses.
 */
export async function join(t, address, room, name, { tab } = {}) {
  const sockets = [];
  class Watched extends WebSocket {
    constructor(...given) {
      super(...given);
      sockets.push(this);
    }
  }
  const client = createClient(`ws://${address}/socket`, { WebSocket: Watched });
  t.teardown(() => client.close());
  const [heard, moves, updates, names] = [[], [], [], new Map()];
  const channel = `room:${room}`;
  const subscription = await new Promise((resolve, reject) => {
    const made = client.subscribe(channel, {
      last: 50,
      info: { name, tab },
      onMessage: ({ data }) => heard.push(data),
      onGap: () => heard.push('gap'),
      onJoin: (members) => {
        for (const { socketId, info } of members) {
          names.set(socketId, info.name);
          moves.push(`+${info.name}`);
        }
      },
      onLeave: (members) => moves.push(...members.map(({ socketId }) => `-${names.get(socketId)}`)),
      onUpdate: (members) => updates.push(...members.map(({ info }) => info)),
      onSubscribed: () => resolve(made),
      onError: reject,
    });
  });
  const members = () => subscription.presence();
  // a node with a backplane knows no members
  for (const { socketId, info } of await members().catch(() => [])) names.set(socketId, info.name);
  return {
    client,
    subscription,
    heard,
    moves,
    updates,
    say: (body) => client.publish(channel, body),
    hears: (line) =>
      until(
        () => heard.includes(line),
        () => `${JSON.stringify(line)} in ${JSON.stringify(heard)}`,
      ),
    sees: (move) =>
      until(
        () => moves.includes(move),
        () => `${move} in ${moves}`,
      ),
    names: async () => (await members()).map(({ info }) => info.name),
    /** Cuts the connection that is open. */
    cut: () => sockets.at(-1).terminate(),
  };
}
