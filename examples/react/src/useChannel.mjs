// @ts-check
import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { channels } from './channels.mjs';

const KEPT = 100;

/**
 * Subscribes the component to a channel while it is mounted.
 *
 * @param {string} channel
 * @returns {{ messages: import('./channels.mjs').Message[], publish: (data: unknown) => boolean }} the last messages, and what sends
 *   one to all members of the channel; false: there is no connection
 */
export function useChannel(channel) {
  const [messages, setMessages] = useState(/** @type {import('./channels.mjs').Message[]} */ ([]));
  useEffect(() => {
    const end = channels.subscribe(channel, (message) => {
      setMessages((before) => [...before, message].slice(-KEPT));
    });
    return () => {
      end();
      setMessages([]);
    };
  }, [channel]);
  const publish = useCallback((/** @type {unknown} */ data) => channels.publish(channel, data), [channel]);
  return { messages, publish };
}

/** How the connection is. */
export function useStatus() {
  return useSyncExternalStore(watch, () => channels.status);
}

/** @param {() => void} watcher */
const watch = (watcher) => channels.onStatus(watcher);
