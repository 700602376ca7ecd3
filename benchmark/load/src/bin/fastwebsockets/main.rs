//! `millrace-fastwebsockets`: the same scenarios served in Rust without JavaScript, as a user of the
//! `fastwebsockets` and hyper crates would write it: one thread, and two tasks per connection, one to
//! read and one to write. It has no limits, no deadlines and no backpressure. Not for production use.
#![forbid(unsafe_code)]

mod connection;
mod hub;
mod outbox;

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::rc::Rc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

use hub::{Hub, Kind};
use millrace_load::sys;

fn main() -> ExitCode {
    let kind = match std::env::args().nth(1).as_deref() {
        Some("--handler=echo") => Kind::Echo,
        Some("--handler=headline") => Kind::Headline,
        Some("--handler=fanout") => Kind::Fanout,
        Some("--handler=channels") => Kind::Channels,
        _ => {
            let usage = "millrace-fastwebsockets --handler=echo|headline|fanout|channels";
            // nothing can be done if even this cannot be written
            let _ = writeln!(io::stderr(), "{usage}");
            return ExitCode::from(2);
        }
    };
    match run(kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "millrace-fastwebsockets: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(kind: Kind) -> io::Result<()> {
    sys::raise_descriptor_limit()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    LocalSet::new().block_on(&runtime, accept(Rc::new(Hub::new(kind))))
}

async fn accept(hub: Rc<Hub>) -> io::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(4096)?;
    let listener = TcpListener::from_std(socket.into())?;
    let mut out = io::stdout().lock();
    writeln!(out, "ready {}", listener.local_addr()?.port())?;
    out.flush()?;
    drop(out);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        spawn_local(serve(Rc::clone(&hub), stream));
    }
}

/// Serves HTTP until the upgrade; a task of its own then serves the connection.
async fn serve(hub: Rc<Hub>, stream: TcpStream) {
    let service = service_fn(move |mut request| {
        let hub = Rc::clone(&hub);
        async move {
            let (response, upgrade) = fastwebsockets::upgrade::upgrade(&mut request)?;
            spawn_local(tokio::task::unconstrained(connection::run(hub, upgrade)));
            Ok::<_, fastwebsockets::WebSocketError>(response)
        }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // the error of a failed handshake is not reported to anyone
    let _ = connection.with_upgrades().await;
}
