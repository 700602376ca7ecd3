/** The texts of `--help`. */

export const HELP = `Usage: millrace <command>

  serve <worker.js>   serve WebSocket connections with a worker module
  bench <ws-url>      measure a WebSocket server

  --help, --version   millrace <command> --help tells more of a command

Exit codes: 0 fine, 1 it did not work, 2 wrong arguments, 128 + signal ended by a second signal.
Environment: RUST_LOG=debug shows the log, NO_COLOR=1 takes the colours away.`;

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

export const BENCH_HELP = `Usage: millrace bench <ws-url> [options]

Measures a WebSocket server from one thread.

  --mode echo         send a text, await the same text, and so on (default)
  --mode connect      connect, close, and so on
  --connections <n>   at once, 1 to 10000 (default 50)
  --seconds <n>       1 to 3600 (default 5)
  --size <bytes>      of a text, 1 to 1048576 (default 32)
  --json              the result as JSON on the standard output

Ends early, with what was measured so far, on SIGINT.`;
