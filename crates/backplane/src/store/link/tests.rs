//! Late answers and silent servers, with the client library. Time is an argument: no test waits for a deadline.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use tokio::time::timeout;

use super::super::jetstream::responder::{config, run};
use super::*;

/// Long after every deadline.
const LATER: Duration = Duration::from_secs(60);

/// A link to a server, and how the server's side of the connection ended.
async fn link() -> (Link<&'static str>, JoinHandle<io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    let outcome = thread::spawn(move || serve(listener.accept()?.0));
    let config = Config {
        protocol: Protocol::Redis,
        ..config(&server)
    };
    let link = Link::connect(&config, &server, None).await.unwrap();
    (link, outcome)
}

/// Answers all commands but these: LATE is not answered, and TELL lets a message come.
fn serve(mut out: TcpStream) -> io::Result<()> {
    let mut input = BufReader::new(out.try_clone()?);
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let words = number(&line)?;
        let mut verb = Vec::new();
        for word in 0..words {
            line.clear();
            input.read_line(&mut line)?;
            let mut text = vec![0; number(&line)? + 2];
            input.read_exact(&mut text)?;
            if word == 0 {
                verb = text;
            }
        }
        let answer: &[u8] = match verb.trim_ascii_end() {
            b"HELLO" => b"%0\r\n",
            b"LATE" => b"",
            b"TELL" => b">3\r\n$7\r\nmessage\r\n$1\r\nt\r\n$1\r\nm\r\n",
            _ => b"+OK\r\n",
        };
        out.write_all(answer)?;
        line.clear();
    }
    Ok(())
}

/// The number in a line after its first character.
fn number(line: &str) -> io::Result<usize> {
    let digits = line.trim_end().get(1..).unwrap_or_default();
    digits.parse().map_err(io::Error::other)
}

fn ask(link: &mut Link<&'static str>, verb: &'static str, now: Instant) {
    link.send(verb, redis::cmd(verb), 0, now);
}

#[test]
fn a_command_that_is_late_on_a_live_link_ends_alone() {
    run(async {
        let (mut link, now) = (link().await.0, Instant::now());
        ask(&mut link, "LATE", now);
        ask(&mut link, "TELL", now);
        let event = timeout(LATER, poll_fn(|cx| link.poll(cx))).await;
        assert!(matches!(event, Ok(Ok(Event::Message(..)))));
        assert_eq!(link.overdue(now).unwrap(), None);
        assert_eq!(link.due(), Some(now + DEADLINE));
        for late in [Some("LATE"), Some("TELL"), None] {
            assert_eq!(link.overdue(now + LATER).unwrap(), late);
        }
        assert_eq!((link.due(), link.is_idle()), (None, true));
    });
}

#[test]
fn a_server_that_says_nothing_after_a_command_is_lost() {
    run(async {
        let (mut link, now) = (link().await.0, Instant::now());
        ask(&mut link, "LATE", now);
        poll_fn(|cx| {
            assert!(link.poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(link.overdue(now).unwrap(), None);
        let lost = link.overdue(now + LATER);
        assert!(matches!(lost, Err(LinkError::Silent(_))));
    });
}

#[test]
fn a_server_does_not_owe_what_its_node_has_not_written() {
    run(async {
        let (mut link, now) = (link().await.0, Instant::now());
        ask(&mut link, "LATE", now);
        assert_eq!(link.overdue(now + LATER).unwrap(), Some("LATE"));
        assert_eq!(link.overdue(now + LATER).unwrap(), None);
    });
}

#[test]
fn a_lost_link_is_reset() {
    for is_lost in [false, true] {
        run(async {
            let (link, outcome) = link().await;
            if is_lost {
                link.cut();
            }
            drop(link);
            assert_eq!(outcome.join().unwrap().is_err(), is_lost);
        });
    }
}
