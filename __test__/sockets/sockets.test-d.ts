// What TypeScript makes of the calls of millrace/sockets. Compiled, not run.
import sockets, {
  type Accepted,
  type Address,
  AF_INET,
  accept,
  bind,
  connect,
  type Datagram,
  EPOLL_CTL_ADD,
  EPOLLET,
  EPOLLIN,
  type EpollEvent,
  epoll_create1,
  epoll_ctl,
  epoll_wait,
  getsockname,
  InternalError,
  type ParsedRequest,
  type Polled,
  parse_http_request,
  poll,
  recv,
  recvfrom,
  SOCK_STREAM,
  type Sockets,
  send,
  sendto,
  socket,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/sockets.mjs';

const all: Sockets = sockets;
const fd: number = socket(AF_INET, SOCK_STREAM);
void (all.socket === socket);
const zero: number = bind(fd, '', 0) + bind(fd, '/path') + connect(fd, '127.0.0.1', 1);
// @ts-expect-error a port is a number
bind(fd, '', '80');
const own: Address = getsockname(fd);
const accepted: Accepted | null = accept(fd);
// @ts-expect-error there may be none
void accept(fd).fd;

send(fd, 'text');
send(fd, new Uint8Array(1), 0);
send(fd, new DataView(new ArrayBuffer(1)));
send(fd, Buffer.from('x').buffer as ArrayBuffer);
// @ts-expect-error not an array
send(fd, [1, 2]);
sendto(fd, 'text', 0, '::1', 1);

const text: string | null = recv(fd, 10);
const same: string | null = recv(fd, 10, 0, { bytes: false });
const bytes: Uint8Array | null = recv(fd, 10, undefined, { bytes: true });
// @ts-expect-error bytes are no text
const wrong: string | null = recv(fd, 10, 0, { bytes: true });
declare const either: boolean;
const unknown: string | Uint8Array | null = recv(fd, 10, 0, { bytes: either });
// @ts-expect-error there is no such option
recv(fd, 10, 0, { binary: true });
const datagram: Datagram | null = recvfrom(fd, 10);
const binary: Datagram<Uint8Array> | null = recvfrom(fd, 10, 0, { bytes: true });

const epoll: number = epoll_create1();
epoll_ctl(epoll, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET);
const events: EpollEvent[] = epoll_wait(epoll, 10);
const polled: Polled[] = poll([{ fd, events: 1 }] as const, 0);
const revents: number | undefined = polled[0]?.revents;
// @ts-expect-error what is waited for has to be said
poll([{ fd }]);

const request: ParsedRequest = parse_http_request('');
const field: string | undefined = request.headers['host'];
const failed = (error: unknown) =>
  error instanceof InternalError ? `${error.code} ${error.errno.toFixed()} ${error.syscall}` : '';
// @ts-expect-error constants are read only
sockets.AF_INET = 3;

export { accepted, binary, bytes, datagram, events, failed, field, own, revents, same, text, unknown, wrong, zero };
