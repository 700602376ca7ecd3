//! A server for tests that answers requests and pings, and a link to it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use super::link::Link;
use crate::config::{BackplaneFull, Bounds, Config, Credentials, Protocol, Server};

/// A link to a server that gives this answer to a request with this subject; none if it is empty.
pub(in crate::store) async fn link<R>(
    answer: impl FnMut(&str) -> String + Send + 'static,
) -> Link<R> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    std::thread::spawn(move || serve(listener.accept()?.0, answer));
    Link::connect(&config(&server), &server, None)
        .await
        .unwrap()
}

/// The configuration of a node with this server.
pub(in crate::store) fn config(server: &Server) -> Config {
    Config {
        protocol: Protocol::Nats,
        servers: vec![server.clone()],
        prefix: "app".to_owned(),
        sentinel: None,
        credentials: Credentials::default(),
        tls: None,
        bounds: Bounds {
            queue_messages: 1,
            queue_bytes: 1,
            message_bytes: 1,
            full: BackplaneFull::default(),
        },
        histories: Vec::new(),
    }
}

/// Answers until the connection ends.
fn serve(mut out: TcpStream, mut answer: impl FnMut(&str) -> String) -> io::Result<()> {
    let mut input = BufReader::new(out.try_clone()?);
    out.write_all(b"INFO {\"max_payload\":1048576}\r\n")?;
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let words: Vec<_> = line.split_whitespace().collect();
        match *words {
            ["PING"] => out.write_all(b"PONG\r\n")?,
            ["PUB", subject, reply, length] | ["HPUB", subject, reply, _, length] => {
                let body = length.parse::<u64>().map_err(io::Error::other)? + 2;
                io::copy(&mut input.by_ref().take(body), &mut io::sink())?;
                let answer = answer(subject);
                if !answer.is_empty() {
                    let message = format!("MSG {reply} 1 {}\r\n{answer}\r\n", answer.len());
                    out.write_all(message.as_bytes())?;
                }
            }
            _ => {}
        }
        line.clear();
    }
    Ok(())
}

/// Runs a test.
pub(in crate::store) fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(test);
}
