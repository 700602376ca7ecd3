// @ts-check
import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { client } from './client.mjs';

const KEPT = 100;

/** @typedef {import('millrace/client').Message<string>} Message */

/**
 * Subscribes the component to a channel while it is mounted.
 *
 * @param {string} channel
 * @returns {{ messages: Message[], publish: (data: unknown) => Promise<unknown> }} the last messages, and what sends one to all
 *   members of the channel, also after a lost connection
 */
export function useChannel(channel) {
  const [messages, setMessages] = useState(/** @type {Message[]} */ ([]));
  useEffect(() => {
    let isOver = false;
    /** @param {Message[]} more also of a history that comes when the component shows another channel */
    const add = (more) => {
      if (!isOver) setMessages((before) => merged(before, more));
    };
    const room = client.subscribe(channel, {
      last: KEPT,
      onMessage: (message) => add([message]),
      // more was missed than the server keeps: show what it has
      onGap: async () => {
        setMessages([]);
        add(await lastOf(room));
      },
    });
    return () => {
      isOver = true;
      room.close();
      setMessages([]);
    };
  }, [channel]);
  const publish = useCallback((/** @type {unknown} */ data) => client.publish(channel, data), [channel]);
  return { messages, publish };
}

/**
 * The last messages that the server keeps. It is asked again if the connection is lost meanwhile.
 *
 * @param {import('millrace/client').Subscription<string>} room
 */
async function lastOf(room) {
  for (;;) {
    try {
      return (await room.history({ limit: KEPT, reverse: true })).publications;
    } catch (error) {
      const { code } = /** @type {import('millrace/client').CallError} */ (error);
      if (client.status === 'closed' || !['closed', 'timeout'].includes(code)) throw error;
    }
  }
}

/**
 * The last messages of two lists, in the order of their offsets, none of them twice.
 *
 * @param {Message[]} some
 * @param {Message[]} others
 */
function merged(some, others) {
  const all = new Map([...some, ...others].map((message) => [message.offset ?? 0, message]));
  return [...all.values()].sort((one, other) => (one.offset ?? 0) - (other.offset ?? 0)).slice(-KEPT);
}

/** How the connection is. */
export function useStatus() {
  return useSyncExternalStore(client.onStatus, () => client.status);
}
