/** The channels of topics. */

/**
 * The name of the channel of a topic in a namespace or, without one, of the peers of all namespaces that have the topic.
 * Every peer is in both.
 */
export function channelOf(topic: string, namespace = ''): string {
  return `crossws:${encodeURIComponent(namespace)}:${topic}`;
}
