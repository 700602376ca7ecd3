/** The numbers of the platform. Those that it lacks are `undefined`; on Windows, all. */

import { NUMBERS } from './native.js';

/** Present wherever its comment does not say otherwise. */
const number = (name: string): number => NUMBERS[name] as number;

/** IPv4. */
export const AF_INET: number = number('AF_INET');

/** IPv6. */
export const AF_INET6: number = number('AF_INET6');

/** Unix sockets: an address is a path. */
export const AF_UNIX: number = number('AF_UNIX');

/** A stream of bytes: TCP. */
export const SOCK_STREAM: number = number('SOCK_STREAM');

/** Datagrams: UDP. */
export const SOCK_DGRAM: number = number('SOCK_DGRAM');

/** Packets as they are. Needs privileges. */
export const SOCK_RAW: number = number('SOCK_RAW');

/** TCP; the level of its options. */
export const IPPROTO_TCP: number = number('IPPROTO_TCP');

/** UDP; the level of its options. */
export const IPPROTO_UDP: number = number('IPPROTO_UDP');

/** IPv6; the level of its options. */
export const IPPROTO_IPV6: number = number('IPPROTO_IPV6');

/** The level of the options of all sockets. */
export const SOL_SOCKET: number = number('SOL_SOCKET');

/** An address may be bound to although connections of a former listener are still ending. */
export const SO_REUSEADDR: number = number('SO_REUSEADDR');

/** Several sockets may be bound to one address. */
export const SO_REUSEPORT: number = number('SO_REUSEPORT');

/** Whether the peer is there is looked after while nothing is sent. */
export const SO_KEEPALIVE: number = number('SO_KEEPALIVE');

/** Datagrams may be sent to all in a network. */
export const SO_BROADCAST: number = number('SO_BROADCAST');

/** How many bytes the system keeps that were not received yet. */
export const SO_RCVBUF: number = number('SO_RCVBUF');

/** How many bytes the system keeps that were not sent yet. */
export const SO_SNDBUF: number = number('SO_SNDBUF');

/** To be read: the number of what went wrong, which is then forgotten; 0 if nothing did. */
export const SO_ERROR: number = number('SO_ERROR');

/** To be read: the type of the socket. */
export const SO_TYPE: number = number('SO_TYPE');

/** Small pieces are sent at once. Level `IPPROTO_TCP`. */
export const TCP_NODELAY: number = number('TCP_NODELAY');

/** A socket for IPv6 takes none of IPv4. Level `IPPROTO_IPV6`. */
export const IPV6_V6ONLY: number = number('IPV6_V6ONLY');

/** No more is received. */
export const SHUT_RD: number = number('SHUT_RD');

/** No more is sent: the peer sees the end. */
export const SHUT_WR: number = number('SHUT_WR');

/** Both. */
export const SHUT_RDWR: number = number('SHUT_RDWR');

/** The flag of descriptors that do not wait. No function here takes it: see `setnonblocking`. */
export const O_NONBLOCK: number = number('O_NONBLOCK');

/** What is received stays to be received again. */
export const MSG_PEEK: number = number('MSG_PEEK');

/** This call does not wait. */
export const MSG_DONTWAIT: number = number('MSG_DONTWAIT');

/** No `SIGPIPE`. It is always added. Not on macOS, where it is never raised either. */
export const MSG_NOSIGNAL: number = number('MSG_NOSIGNAL');

/** There is something to receive or to accept, or the end. */
export const POLLIN: number = number('POLLIN');

/** There is urgent data. */
export const POLLPRI: number = number('POLLPRI');

/** There is room to send, or a connection is there. */
export const POLLOUT: number = number('POLLOUT');

/** Something went wrong: `SO_ERROR` tells what. */
export const POLLERR: number = number('POLLERR');

/** The connection is over in both directions. */
export const POLLHUP: number = number('POLLHUP');

/** Never given here: `poll` fails with `EBADF`. */
export const POLLNVAL: number = number('POLLNVAL');

/** The peer sends no more. Linux only. */
export const POLLRDHUP: number = number('POLLRDHUP');

/** There is something to receive or to accept, or the end. Linux only, as all for epoll. */
export const EPOLLIN: number = number('EPOLLIN');

/** There is urgent data. */
export const EPOLLPRI: number = number('EPOLLPRI');

/** There is room to send, or a connection is there. */
export const EPOLLOUT: number = number('EPOLLOUT');

/** Something went wrong: `SO_ERROR` tells what. Always told. */
export const EPOLLERR: number = number('EPOLLERR');

/** The connection is over in both directions. Always told. */
export const EPOLLHUP: number = number('EPOLLHUP');

/** The peer sends no more. */
export const EPOLLRDHUP: number = number('EPOLLRDHUP');

/** Only what is new is told. Negative: the highest of 32 bits. */
export const EPOLLET: number = number('EPOLLET');

/** Told once, then not before `EPOLL_CTL_MOD`. */
export const EPOLLONESHOT: number = number('EPOLLONESHOT');

/** From now on. */
export const EPOLL_CTL_ADD: number = number('EPOLL_CTL_ADD');

/** Something else from now on. */
export const EPOLL_CTL_MOD: number = number('EPOLL_CTL_MOD');

/** No more. */
export const EPOLL_CTL_DEL: number = number('EPOLL_CTL_DEL');
