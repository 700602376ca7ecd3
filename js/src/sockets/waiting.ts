/** Waiting for many descriptors at once. */

import { toInt32, toMask, wrong } from './call-arguments.js';
import { calls, done, epollCalls, NUMBERS, told, waitingFor } from './native.js';

/** A descriptor and what is waited for. */
export interface PollEntry {
  /** The descriptor. */
  fd: number;
  /** Some of `POLLIN`, `POLLPRI`, `POLLOUT`. */
  events: number;
}

/** What `poll` found. */
export interface Polled extends PollEntry {
  /** What there is, 0 if nothing: some of the events, `POLLERR`, `POLLHUP`. */
  revents: number;
}

/** What `epoll_wait` found. */
export interface EpollEvent {
  /** The descriptor. */
  fd: number;
  /** What there is: a mask of `EPOLLIN` and others, without a sign. */
  events: number;
}

/**
 * Waits until something happens at one of the descriptors; returns all entries, in their order, with what happened. On every
 * platform but Windows.
 *
 * @param timeout in ms; below zero without end. After it, `revents` of all is 0.
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

/** Makes an epoll descriptor. Linux only. It is closed by `close`. */
export function epoll_create1(flags = 0): number {
  return done('epoll_create1', epollCalls('epoll_create1').epollCreate(toInt32(flags, 'flags')));
}

/**
 * Says what `epoll_wait` shall tell about a descriptor. Returns 0. Linux only.
 *
 * @param op `EPOLL_CTL_ADD`, `EPOLL_CTL_MOD` or `EPOLL_CTL_DEL`
 * @param events a mask, with or without a sign; not needed for `EPOLL_CTL_DEL`
 */
export function epoll_ctl(epfd: number, op: number, fd: number, events?: number): number {
  const native = epollCalls('epoll_ctl');
  const mask = events === undefined && op === NUMBERS['EPOLL_CTL_DEL'] ? 0 : toMask(events, 'events');
  return done('epoll_ctl', native.epollControl(epfd, op, fd, mask));
}

/**
 * Waits until something happens at one of the descriptors that it was told of. An empty array: nothing did. Linux only.
 *
 * @param maxevents so many at most, 1024 at most
 * @param timeout in ms; below zero without end
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
