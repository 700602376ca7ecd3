//! A register on a server that answers every request: there is no such message.

use std::future::poll_fn;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use tokio::time::timeout;

use super::super::register::{Reply, Request};
use super::*;
use crate::config::{BackplaneFull, Bounds, Credentials, Protocol};

/// Answers until the connection ends.
fn serve(mut out: TcpStream) -> io::Result<()> {
    let mut input = BufReader::new(out.try_clone()?);
    out.write_all(b"INFO {\"max_payload\":1048576}\r\n")?;
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let words: Vec<_> = line.split_whitespace().collect();
        match *words {
            ["PING"] => out.write_all(b"PONG\r\n")?,
            ["PUB", _, reply, length] => {
                let body = length.parse::<u64>().map_err(io::Error::other)? + 2;
                io::copy(&mut input.by_ref().take(body), &mut io::sink())?;
                let answer = "{\"error\":{\"code\":404,\"err_code\":10037}}";
                let message = format!("MSG {reply} 1 {}\r\n{answer}\r\n", answer.len());
                out.write_all(message.as_bytes())?;
            }
            _ => {}
        }
        line.clear();
    }
    Ok(())
}

/// A register on such a server. So many sessions of other nodes live.
async fn register(sessions: u64) -> NatsRegister {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    std::thread::spawn(move || serve(listener.accept()?.0));
    let config = Config {
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
    };
    let link = Link::connect(&config, &server, None).await.unwrap();
    let mut register = NatsRegister::new(link, Names::new("app"), Box::default());
    register.live = (1..=sessions)
        .map(|node| Session { node, number: 1 })
        .collect();
    register
}

fn place(channel: &[u8]) -> Place {
    Place {
        channel: channel.into(),
        generation: 1,
    }
}

/// Waits for the answer to a look. Returns the most requests that were under way.
async fn looked(register: &mut NatsRegister) -> usize {
    let mut most = 0;
    let event = poll_fn(|cx| {
        let event = register.poll(cx);
        most = most.max(register.link.in_flight());
        event
    });
    let event = timeout(DEADLINE, event).await.expect("the look ends");
    let Event::Answer(Request::Index(..), Ok(Reply::Index(found))) = event.unwrap() else {
        panic!("it is no answer to a look");
    };
    assert!(found.is_empty());
    most
}

fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(test);
}

#[test]
fn a_look_begins_when_what_fills_the_link_was_written() {
    run(async {
        let mut register = register(1).await;
        for number in 0..100 {
            let channel = format!("{number:03000}");
            register.subscribe(place(channel.as_bytes()), Instant::now());
        }
        assert!(!register.has_much_room());
        let look = ((place(b"room"), 1), Vec::new());
        register.looks.ready.push_back(look);
        looked(&mut register).await;
        assert!(register.is_idle());
    });
}

#[test]
fn looks_wait_while_many_questions_are_not_answered() {
    const SESSIONS: usize = 300;
    const LOOKS: usize = 8;
    run(async {
        let mut register = register(SESSIONS.try_into().unwrap()).await;
        let looks = (0..LOOKS).map(|_| ((place(b"room"), 1), Vec::new()));
        register.looks.ready.extend(looks);
        let mut most = 0;
        for _ in 0..LOOKS {
            most = most.max(looked(&mut register).await);
        }
        // the last one that is begun has a question for each session
        assert!((MOST_IN_FLIGHT..MOST_IN_FLIGHT + SESSIONS).contains(&most));
        assert!(register.is_idle());
    });
}

/// Only bounds a hang.
const DEADLINE: Duration = Duration::from_secs(60);
