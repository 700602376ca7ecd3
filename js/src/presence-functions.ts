/** The module functions for channels with presence, of the default gateway. */

import type { Presence, PresenceCount } from './gateway/members.js';
import type { Name } from './gateway/target.js';
import { threadGateway } from './gateway/thread-gateway.js';

/**
 * The members of a channel with presence, on all nodes: the clients that have subscribed themselves by `millrace.v1`, and the
 * sockets that `subscribe` made members.
 *
 * @throws {TypeError} as a rejection, naming the bad argument
 * @throws {MillraceError} as a rejection: ERR_MILLRACE_NO_PRESENCE, ERR_MILLRACE_PRESENCE_UNAVAILABLE
 * @example
 * ```ts
 * const { members } = await presence('room:1');
 * console.log(members.map(({ info }) => info));
 * ```
 */
export function presence(channel: Name): Promise<Presence> {
  return threadGateway().presence(channel);
}

/**
 * How many members a channel with presence has, on all nodes. Costs the same for any number of them, once the node knows them.
 *
 * @throws {TypeError} as a rejection, naming the bad argument
 * @throws {MillraceError} as a rejection: ERR_MILLRACE_NO_PRESENCE, ERR_MILLRACE_PRESENCE_UNAVAILABLE
 * @example
 * ```ts
 * const { members, sockets } = await presenceCount('room:1');
 * ```
 */
export function presenceCount(channel: Name): Promise<PresenceCount> {
  return threadGateway().presenceCount(channel);
}

/**
 * Replaces the `info` of a member of a channel with presence, of a socket of this node. The other subscribers are told, on all
 * nodes.
 *
 * @param info a value of JSON, at most 4,096 bytes
 * @returns whether the socket is a member on this node
 * @throws {TypeError} as a rejection, naming the bad argument; nothing was changed
 * @throws {MillraceError} as a rejection: ERR_MILLRACE_NO_PRESENCE, ERR_MILLRACE_PRESENCE_FULL; nothing was changed
 * @example
 * ```ts
 * await setPresence(socketId, 'room:1', { name: 'Ada', status: 'away' });
 * ```
 */
export function setPresence(socketId: number, channel: Name, info: unknown): Promise<boolean> {
  return threadGateway().setPresence(socketId, channel, info);
}
