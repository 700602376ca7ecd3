//! `millrace-uring`: what `millrace-epoll` does, by `io_uring` with multishot receives and provided buffers, to measure
//! what such a ring would gain. Not for production use.
#![forbid(unsafe_code)]

#[path = "../epoll/client.rs"]
#[expect(dead_code, reason = "the ring reads and writes")]
mod client;
#[path = "../epoll/handlers.rs"]
mod handlers;
mod server;
#[path = "../epoll/wire.rs"]
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use handlers::Kind;
use server::Server;

fn main() -> ExitCode {
    let kind = match std::env::args().nth(1).as_deref() {
        Some("--handler=echo") => Kind::Echo,
        Some("--handler=headline") => Kind::Headline,
        Some("--handler=fanout") => Kind::Fanout,
        Some("--handler=channels") => Kind::Channels,
        Some("--handler=count") => Kind::Count,
        _ => {
            let usage = "millrace-uring --handler=echo|headline|fanout|channels|count";
            // nothing can be done if even this cannot be written
            let _ = writeln!(io::stderr(), "{usage}");
            return ExitCode::from(2);
        }
    };
    match Server::bind(kind).and_then(announce) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "millrace-uring: {error}");
            ExitCode::FAILURE
        }
    }
}

fn announce(mut server: Server) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "ready {}", server.port()?)?;
    out.flush()?;
    drop(out);
    server.run()
}
