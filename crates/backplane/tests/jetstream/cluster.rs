//! The servers of a cluster, of which a node's own server tells while the link is up.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use crate::node::{Node, until};
use crate::server::{TIMEOUT, config};

/// A NATS server of which nothing is wanted but a link.
struct Speaker(BufReader<TcpStream>);

impl Speaker {
    /// Waits for a node, and accepts it.
    fn accept(listener: &TcpListener) -> Self {
        listener.set_nonblocking(true).expect("it is open");
        let mut accepted = None;
        until("a node to connect", || {
            accepted = listener.accept().ok();
            accepted.is_some()
        });
        let (stream, _) = accepted.expect("it was accepted");
        stream.set_nonblocking(false).expect("it is open");
        stream.set_read_timeout(Some(TIMEOUT)).expect("it is open");
        let mut speaker = Self(BufReader::new(stream));
        speaker.say("INFO {\"max_payload\":1048576}");
        speaker.hear("PING");
        speaker.say("PONG");
        speaker
    }

    fn say(&mut self, line: &str) {
        let line = format!("{line}\r\n");
        let stream = self.0.get_mut();
        stream.write_all(line.as_bytes()).expect("it is open");
    }

    /// Reads up to this line.
    fn hear(&mut self, wanted: &str) {
        let mut line = String::new();
        while line.trim_end() != wanted {
            line.clear();
            let count = self.0.read_line(&mut line).expect("it is open");
            assert!(count > 0, "the node closes the link");
        }
    }
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    (listener, port)
}

#[test]
fn a_server_that_was_told_later_is_used_after_a_loss() {
    let ((first, own), (second, other)) = (listen(), listen());
    let mut config = config(own);
    config.histories.clear();
    let node = Node::start(&config, 1);
    let mut speaker = Speaker::accept(&first);
    node.await_connected(true);
    speaker.say(&format!(
        "INFO {{\"connect_urls\":[\"127.0.0.1:{own}\",\"127.0.0.1:{other}\"]}}"
    ));
    // one without servers says nothing about them
    speaker.say("INFO {\"max_payload\":1048576}");
    speaker.say("PING");
    speaker.hear("PONG");
    drop((speaker, first));
    let _other = Speaker::accept(&second);
    assert_eq!(node.reports().len(), 1, "{:?}", node.reports());
}
