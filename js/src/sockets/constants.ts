/** The constants of the platform. Those that it lacks are `undefined`; on Windows, all are. */

import { NUMBERS } from './native.js';

/** Defined unless the comment of a constant says otherwise. */
const number = (name: string): number => NUMBERS[name] as number;

/** IPv4. */
export const AF_INET: number = number('AF_INET');

/** IPv6. */
export const AF_INET6: number = number('AF_INET6');

/** Unix sockets, whose addresses are paths. */
export const AF_UNIX: number = number('AF_UNIX');

/** A stream of bytes: TCP. */
export const SOCK_STREAM: number = number('SOCK_STREAM');

/** Datagrams: UDP. */
export const SOCK_DGRAM: number = number('SOCK_DGRAM');

/** Raw packets. Needs privileges. */
export const SOCK_RAW: number = number('SOCK_RAW');

/** TCP, and the level of its options. */
export const IPPROTO_TCP: number = number('IPPROTO_TCP');

/** UDP, and the level of its options. */
export const IPPROTO_UDP: number = number('IPPROTO_UDP');

/** IPv6, and the level of its options. */
export const IPPROTO_IPV6: number = number('IPPROTO_IPV6');

/** The level of the options of all sockets. */
export const SOL_SOCKET: number = number('SOL_SOCKET');

/** Allows binding to an address while connections of an earlier listener are still ending. */
export const SO_REUSEADDR: number = number('SO_REUSEADDR');

/** Allows several sockets to be bound to one address. */
export const SO_REUSEPORT: number = number('SO_REUSEPORT');

/** Checks whether the peer is still there while nothing is sent. */
export const SO_KEEPALIVE: number = number('SO_KEEPALIVE');

/** Allows datagrams to all hosts of a network. */
export const SO_BROADCAST: number = number('SO_BROADCAST');

/** The size of the system's receive buffer in bytes. */
export const SO_RCVBUF: number = number('SO_RCVBUF');

/** The size of the system's send buffer in bytes. */
export const SO_SNDBUF: number = number('SO_SNDBUF');

/** Read only: the number of a pending error, which reading clears. 0 if there is none. */
export const SO_ERROR: number = number('SO_ERROR');

/** Read only: the type of the socket. */
export const SO_TYPE: number = number('SO_TYPE');

/** Sends small pieces at once. Level `IPPROTO_TCP`. */
export const TCP_NODELAY: number = number('TCP_NODELAY');

/** Restricts an IPv6 socket to IPv6. Level `IPPROTO_IPV6`. */
export const IPV6_V6ONLY: number = number('IPV6_V6ONLY');

/** Closes the receiving direction. */
export const SHUT_RD: number = number('SHUT_RD');

/** Closes the sending direction: the peer sees the end. */
export const SHUT_WR: number = number('SHUT_WR');

/** Closes both directions. */
export const SHUT_RDWR: number = number('SHUT_RDWR');

/** The flag of non-blocking descriptors. No function of this module takes it: see `setnonblocking`. */
export const O_NONBLOCK: number = number('O_NONBLOCK');

/** Received data stays in the buffer and can be received again. */
export const MSG_PEEK: number = number('MSG_PEEK');

/** The call does not wait. */
export const MSG_DONTWAIT: number = number('MSG_DONTWAIT');

/** Prevents `SIGPIPE`. Always added. Not defined on macOS, where these calls raise no `SIGPIPE` either. */
export const MSG_NOSIGNAL: number = number('MSG_NOSIGNAL');

/** Data, a connection to accept, or the end of input is available. */
export const POLLIN: number = number('POLLIN');

/** Urgent data is available. */
export const POLLPRI: number = number('POLLPRI');

/** There is room to send, or a connection attempt has succeeded. */
export const POLLOUT: number = number('POLLOUT');

/** There is an error: `SO_ERROR` has it. */
export const POLLERR: number = number('POLLERR');

/** Both directions of the connection are closed. */
export const POLLHUP: number = number('POLLHUP');

/** Never reported here: `poll` fails with `EBADF` instead. */
export const POLLNVAL: number = number('POLLNVAL');

/** The peer sends no more. Linux only. */
export const POLLRDHUP: number = number('POLLRDHUP');

/** Data, a connection to accept, or the end of input is available. Linux only, like all constants for epoll. */
export const EPOLLIN: number = number('EPOLLIN');

/** Urgent data is available. */
export const EPOLLPRI: number = number('EPOLLPRI');

/** There is room to send, or a connection attempt has succeeded. */
export const EPOLLOUT: number = number('EPOLLOUT');

/** There is an error: `SO_ERROR` has it. Always reported. */
export const EPOLLERR: number = number('EPOLLERR');

/** Both directions of the connection are closed. Always reported. */
export const EPOLLHUP: number = number('EPOLLHUP');

/** The peer sends no more. */
export const EPOLLRDHUP: number = number('EPOLLRDHUP');

/** Reports only changes (edge-triggered). A negative number, because it is the highest of 32 bits. */
export const EPOLLET: number = number('EPOLLET');

/** Reports once, then not again before `EPOLL_CTL_MOD`. */
export const EPOLLONESHOT: number = number('EPOLLONESHOT');

/** Adds a descriptor. */
export const EPOLL_CTL_ADD: number = number('EPOLL_CTL_ADD');

/** Changes the events of a descriptor. */
export const EPOLL_CTL_MOD: number = number('EPOLL_CTL_MOD');

/** Removes a descriptor. */
export const EPOLL_CTL_DEL: number = number('EPOLL_CTL_DEL');
