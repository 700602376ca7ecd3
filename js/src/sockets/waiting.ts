/** Waiting for many descriptors at once. */

import { toInt32, toMask, wrong } from './call-arguments.js';
import { calls, done, epollCalls, NUMBERS, told, waitingFor } from './native.js';

/** A descriptor and the events to wait for. */
export interface PollEntry {
  /** The descriptor. */
  fd: number;
  /** A mask of `POLLIN`, `POLLPRI` and `POLLOUT`. */
  events: number;
}

/** An entry of the result of `poll`. */
export interface Polled extends PollEntry {
  /** The events that happened, 0 if none: some of `events`, `POLLERR`, `POLLHUP`. */
  revents: number;
}

/** An entry of the result of `epoll_wait`. */
export interface EpollEvent {
  /** The descriptor. */
  fd: number;
  /** The events that happened: an unsigned mask of `EPOLLIN` and others. */
  events: number;
}

/**
 * Waits until something happens at one of the descriptors. Returns all entries in their order, with their events.
 * Available on every platform except Windows.
 *
 * @param timeout in milliseconds; no limit if negative. After it, `revents` of all entries is 0.
 * @example
 * ```ts
 * const [entry] = poll([{ fd, events: POLLIN }], 1000);
 * if (entry !== undefined && entry.revents !== 0) recv(fd, 4096);
 * ```
 */
export function poll(entries: readonly PollEntry[], timeout = -1): Polled[] {
  const native = calls('poll');
  if (!Array.isArray(entries)) throw wrong('entries', 'an array', entries);
  const pairs = (entries as readonly PollEntry[]).flatMap((entry, index) => pairOf(entry, `entries[${index}]`));
  const happened = told(
    'poll',
    waitingFor(timeout, (left) => native.poll(pairs, left)),
  );
  return happened.map((revents, index) => ({
    fd: pairs[2 * index] as number,
    events: pairs[2 * index + 1] as number,
    revents,
  }));
}

function pairOf(entry: unknown, at: string): [number, number] {
  if (typeof entry !== 'object' || entry === null) throw wrong(at, 'an object', entry);
  const { fd, events } = entry as { fd?: unknown; events?: unknown };
  toMask(fd, `${at}.fd`);
  toMask(events, `${at}.events`);
  return [fd as number, events as number];
}

/** Creates an epoll descriptor. Close it with `close`. Linux only. */
export function epoll_create1(flags = 0): number {
  return done('epoll_create1', epollCalls('epoll_create1').epollCreate(toInt32(flags, 'flags')));
}

/**
 * Sets what `epoll_wait` reports for a descriptor. Returns 0. Linux only.
 *
 * @param op `EPOLL_CTL_ADD`, `EPOLL_CTL_MOD` or `EPOLL_CTL_DEL`
 * @param events a signed or unsigned mask; not needed for `EPOLL_CTL_DEL`
 */
export function epoll_ctl(epfd: number, op: number, fd: number, events?: number): number {
  const native = epollCalls('epoll_ctl');
  const mask = events === undefined && op === NUMBERS['EPOLL_CTL_DEL'] ? 0 : toMask(events, 'events');
  return done('epoll_ctl', native.epollControl(epfd, op, fd, mask));
}

/**
 * Waits until something happens at one of the registered descriptors. An empty array: nothing happened in time. Linux
 * only.
 *
 * @param maxevents the most events to return, 1 to 1024
 * @param timeout in milliseconds; no limit if negative
 */
export function epoll_wait(epfd: number, maxevents: number, timeout = -1): EpollEvent[] {
  const native = epollCalls('epoll_wait');
  const numbers = told(
    'epoll_wait',
    waitingFor(timeout, (left) => native.epollWait(epfd, maxevents, left)),
  );
  const events: EpollEvent[] = [];
  for (let at = 0; at < numbers.length; at += 2) {
    events.push({ fd: numbers[at] as number, events: numbers[at + 1] as number });
  }
  return events;
}
