/** The texts of `--help`. */

export const HELP = `Usage: millrace <command>

  init [directory]    write a small project that runs
  serve <worker.js>   serve WebSocket connections with a worker module
  splice              multiplex many WebSockets of a client over one, as wsplice does
  bench <ws-url>      measure a WebSocket server

  --help, --version   millrace <command> --help describes a command

Exit codes: 0 success, 1 failure, 2 wrong arguments, 128 + signal: ended by a second signal.
Environment: RUST_LOG=debug prints the log, NO_COLOR=1 turns colours off.`;

export const INIT_HELP = `Usage: millrace init [directory] [options]

Writes a project that runs: a server, its worker, a page and what npm needs. The default directory is the current one.
If one of the files exists, the command names it and writes no file.

  --typescript        write TypeScript, which npm start compiles`;

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

SIGINT or SIGTERM stops the server: it tells clients (1001) and sends queued data for up to 5 seconds. A second
signal ends it at once.`;

export const SPLICE_HELP = `Usage: millrace splice [options]

A WebSocket multiplexer, compatible with wsplice: a client opens one WebSocket and, through it, many to other servers.

  --listen <address>            ip:port, [ipv6]:port, localhost:port, :port (every interface) or unix:/path;
                                may be given several times (default 127.0.0.1:3000)
  --network <tcp|tcp6>          tcp6 listens on IPv6 only (default tcp)
  --allowed-hostnames <names>   hosts that clients may reach, separated by spaces or commas; may be given
                                several times
  --any-target                  clients may reach every host if none is listed (default: only on loopback addresses)
  --private-targets             clients may reach hosts of private networks, too (default: only on loopback addresses,
                                and if no host is listed)
  --origin <origin>             browser origins that may connect: 'same-host' (default), '*' for any, or
                                scheme://host[:port], which may be given several times
  --tls-cert <file>             the certificate in PEM; clients then connect with wss:
  --tls-key <file>              its private key in PEM
  --tls-ca <file>               authorities in PEM; clients without a certificate signed by one of them are refused
  --frame-size-limit <size>     the longest control message (default 5MB); units are powers of two
  --write-timeout <time>        how long a write to a client or a target may make no progress (default 5s)
  --dial-timeout <time>         how long connecting to a target may take, including the handshake (default 10s)
  --read-timeout <time>         has no effect, as in wsplice
  --event-name <name>           the event that reports the end of a target: onSocketDisconnect (default), or
                                onSocketClosed as in the program wsplice
  --binary                      all messages relayed to clients are binary
  --metrics[=<path>]            answer GET requests for this path with metrics for Prometheus (default path /metrics)
  --pprof-address <address>     has no effect: there is no Go program to profile
  --config <file>               read options from a JSON file, such as {"listen": ":3000", "any-target": true};
                                options on the command line take precedence
  --version                     print the version of Millrace

--no-any-target, --no-private-targets, --no-binary and --no-metrics turn these options off.

If no host is listed, a listener that other machines can reach needs --any-target. SIGINT or SIGTERM stops the
multiplexer: it tells clients and targets (1001) and sends queued data for up to 5 seconds. A second signal ends it at
once.`;

export const BENCH_HELP = `Usage: millrace bench <ws-url> [options]

Measures a WebSocket server from one thread.

  --mode echo         send a text, wait for the same text, and repeat (default)
  --mode connect      connect, close, and repeat
  --connections <n>   the number of simultaneous connections, 1 to 10000 (default 50)
  --seconds <n>       the duration, 1 to 3600 (default 5)
  --size <bytes>      the size of a text, 1 to 1048576 (default 32)
  --compression       compress texts (permessage-deflate); the server has to agree
  --json              print the result as JSON to the standard output

SIGINT ends the measurement early and prints the result so far.`;
