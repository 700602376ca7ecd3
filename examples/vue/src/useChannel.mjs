// @ts-check
import { onScopeDispose, shallowRef, toValue, watchEffect } from 'vue';
import { channels } from './channels.mjs';

const KEPT = 100;

/**
 * Subscribes the component to a channel while it is mounted.
 *
 * @param {import('vue').MaybeRefOrGetter<string>} channel
 * @returns the last messages, and `publish`, which sends one to all members of the channel; false: there is no connection
 */
export function useChannel(channel) {
  const messages = shallowRef(/** @type {import('./channels.mjs').Message[]} */ ([]));
  watchEffect((onCleanup) => {
    messages.value = [];
    const end = channels.subscribe(toValue(channel), (message) => {
      messages.value = [...messages.value, message].slice(-KEPT);
    });
    onCleanup(end);
  });
  /** @param {unknown} data */
  const publish = (data) => channels.publish(toValue(channel), data);
  return { messages, publish };
}

/** How the connection is. */
export function useStatus() {
  const status = shallowRef(channels.status);
  const end = channels.onStatus(() => {
    status.value = channels.status;
  });
  onScopeDispose(end);
  return status;
}
