/** The texts of `--help`. */

export const HELP = `Usage: millrace <command>

  init [directory]    write a small project that runs
  serve <worker.js>   serve WebSocket connections with a worker module
  splice              let clients have many WebSockets through one, as wsplice does
  bench <ws-url>      measure a WebSocket server

  --help, --version   millrace <command> --help tells more of a command

Exit codes: 0 fine, 1 it did not work, 2 wrong arguments, 128 + signal ended by a second signal.
Environment: RUST_LOG=debug shows the log, NO_COLOR=1 takes the colours away.`;

export const INIT_HELP = `Usage: millrace init [directory] [options]

Writes a project that runs: a server, its worker, a page and what npm needs. Without a directory it is the current one.
Where one of its files is there already, it says which, and writes none.

  --typescript        in TypeScript, which npm start compiles`;

export const SERVE_HELP = `Usage: millrace serve <worker.js> [options]

Serves WebSocket connections; the module's handlers (handleOpen, handleTextMessage, …) run in worker threads.

  --bind <address>    ip:port, [ipv6]:port, localhost:port, :port (every interface) or unix:/path;
                      may be given several times (default localhost:3000)
  --threads <n>       worker threads (default: the available parallelism, at least 4);
                      0 runs the handlers on the main thread
  --origin <origin>   browser origins that may connect: 'same-host' (default), '*' for any, or
                      scheme://host[:port], which may be given several times
  --static <folder>   answer requests with the files of this folder
  --watch             replace the workers when a file in the module's folder changes; connections
                      of a replaced worker are closed with 1012, so that clients connect again

SIGINT or SIGTERM stops: clients are told (1001), what is queued is sent for up to 5 seconds. A second one
ends at once.`;

export const SPLICE_HELP = `Usage: millrace splice [options]

A WebSocket multiplexer, compatible with wsplice: a client opens one WebSocket, and through it many to other servers.

  --listen <address>            ip:port, [ipv6]:port, localhost:port, :port (every interface) or unix:/path;
                                may be given several times (default 127.0.0.1:3000)
  --network <tcp|tcp6>          tcp6 listens on IPv6 only (default tcp)
  --allowed-hostnames <names>   hosts that clients may reach, separated by blanks or commas; may be given several
                                times
  --any-target                  every host may be reached where none is listed; otherwise only on loopback addresses
  --private-targets             hosts of private networks may be reached, too; otherwise only on loopback addresses
                                where no host is listed
  --origin <origin>             browser origins that may connect: 'same-host' (default), '*' for any, or
                                scheme://host[:port], which may be given several times
  --tls-cert <file>             the certificate, and
  --tls-key <file>              its private key, both in PEM: clients connect with wss:
  --tls-ca <file>               authorities in PEM: clients without a certificate of theirs are refused
  --frame-size-limit <size>     of a control message (default 5MB); units are powers of two
  --write-timeout <time>        of a write that gets no further, to clients and targets (default 5s)
  --dial-timeout <time>         in which a target must be reached, its handshake included (default 10s)
  --read-timeout <time>         has no effect, as in wsplice
  --event-name <name>           of the event of a target's end: onSocketDisconnect (default), or onSocketClosed as
                                the program wsplice says
  --binary                      all relayed messages are binary towards clients
  --metrics[=<path>]            GET of this path answers with metrics as Prometheus reads them (default path /metrics)
  --pprof-address <address>     has no effect: there is no Go program to profile
  --config <file>               options from a file in JSON, such as {"listen": ":3000", "any-target": true}; those
                                of the command line go before them
  --version                     the version of Millrace

--no-any-target, --no-private-targets, --no-binary and --no-metrics say the opposite.

Where no host is listed, listeners on addresses that others can reach need --any-target. SIGINT or SIGTERM stops:
clients and targets are told (1001), what is queued is sent for up to 5 seconds. A second one ends at once.`;

export const BENCH_HELP = `Usage: millrace bench <ws-url> [options]

Measures a WebSocket server from one thread.

  --mode echo         send a text, await the same text, and so on (default)
  --mode connect      connect, close, and so on
  --connections <n>   at once, 1 to 10000 (default 50)
  --seconds <n>       1 to 3600 (default 5)
  --size <bytes>      of a text, 1 to 1048576 (default 32)
  --json              the result as JSON on the standard output

Ends early, with what was measured so far, on SIGINT.`;
