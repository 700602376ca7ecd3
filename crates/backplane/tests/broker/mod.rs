//! A server that implements the part of Redis that a node needs, and whose connections tests can cut.
//! Owns its clients.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, spawn_local};

/// See the module.
#[derive(Default)]
pub(crate) struct Broker {
    clients: HashMap<u64, Client>,
    accepted: u64,
    accepting: Vec<JoinHandle<()>>,
    /// How many more bytes are written before all connections are cut.
    left: Option<usize>,
    /// If set: the subscriptions of slow clients, by client, which take effect when a test applies them.
    pub(crate) postponed: Option<Vec<(u64, Vec<u8>)>>,
}

struct Client {
    channels: HashSet<Vec<u8>>,
    out: UnboundedSender<Vec<u8>>,
    tasks: [JoinHandle<()>; 2],
}

impl Broker {
    /// Accepts clients at this port, or at a new port for 0. Several ports are one server.
    pub(crate) async fn open(broker: &Rc<RefCell<Self>>, port: u16) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .expect("the port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let own = Rc::clone(broker);
        let accepting = spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                Self::admit(&own, stream);
            }
        });
        broker.borrow_mut().accepting.push(accepting);
        port
    }

    /// Cuts all connections and accepts no more.
    pub(crate) fn close(&mut self) {
        for accepting in self.accepting.drain(..) {
            accepting.abort();
        }
        self.cut();
    }

    /// Cuts all connections.
    pub(crate) fn cut(&mut self) {
        for (_, client) in self.clients.drain() {
            client.tasks.iter().for_each(JoinHandle::abort);
        }
    }

    /// Cuts all connections when so many more bytes have been written.
    pub(crate) fn cut_after(&mut self, bytes: usize) {
        self.left = Some(bytes);
    }

    /// Cancels [`cut_after`](Self::cut_after).
    pub(crate) fn cut_never(&mut self) {
        self.left = None;
    }

    fn admit(broker: &Rc<RefCell<Self>>, stream: TcpStream) {
        let (mut reader, writer) = stream.into_split();
        let (out, lines) = unbounded_channel();
        let mut this = broker.borrow_mut();
        this.accepted += 1;
        let id = this.accepted;
        let own = Rc::clone(broker);
        let reading = spawn_local(async move {
            let mut input = Vec::new();
            while reader.read_buf(&mut input).await.is_ok_and(|read| read > 0) {
                while let Some((words, length)) = command(&input) {
                    input.drain(..length);
                    own.borrow_mut().apply(id, &words);
                }
            }
        });
        let writing = spawn_local(Self::write(Rc::clone(broker), writer, lines));
        let client = Client {
            channels: HashSet::new(),
            out,
            tasks: [reading, writing],
        };
        this.clients.insert(id, client);
    }

    async fn write(
        broker: Rc<RefCell<Self>>,
        mut writer: OwnedWriteHalf,
        mut lines: UnboundedReceiver<Vec<u8>>,
    ) {
        while let Some(line) = lines.recv().await {
            let left = broker.borrow().left.unwrap_or(usize::MAX);
            let part = line.get(..left).unwrap_or(&line);
            if writer.write_all(part).await.is_err() {
                return;
            }
            let mut broker = broker.borrow_mut();
            if let Some(left) = &mut broker.left {
                *left = left.saturating_sub(line.len());
                if *left == 0 {
                    broker.left = None;
                    broker.cut();
                    return;
                }
            }
        }
    }

    pub(crate) fn apply(&mut self, id: u64, words: &[Vec<u8>]) {
        if let ([verb, name], Some(postponed)) = (words, &mut self.postponed)
            && verb == b"SUBSCRIBE"
        {
            postponed.push((id, name.clone()));
            return;
        }
        let reply = match words {
            [verb, ..] if verb == b"HELLO" => b"%0\r\n".to_vec(),
            [verb, name] if verb == b"SUBSCRIBE" => {
                if let Some(client) = self.clients.get_mut(&id) {
                    client.channels.insert(name.clone());
                }
                push(&[b"subscribe", name, b"1"])
            }
            [verb, name, payload] if verb == b"PUBLISH" => {
                let message = push(&[b"message", name, payload]);
                for client in self.clients.values() {
                    if client.channels.contains(name) {
                        let _gone = client.out.send(message.clone());
                    }
                }
                b":1\r\n".to_vec()
            }
            _ => b"+PONG\r\n".to_vec(),
        };
        if let Some(client) = self.clients.get(&id) {
            let _gone = client.out.send(reply);
        }
    }
}

/// Parses the command at the beginning. Returns it with its length.
fn command(input: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let mut at = 0;
    let count = line(input, &mut at)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let length = line(input, &mut at)?;
        words.push(input.get(at..at + length)?.to_vec());
        at += length + 2;
    }
    (at <= input.len()).then_some((words, at))
}

/// The number in a line after its first character.
fn line(input: &[u8], at: &mut usize) -> Option<usize> {
    let rest = input.get(*at..)?;
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let digits = str::from_utf8(rest.get(1..end)?).ok()?;
    *at += end + 2;
    digits.parse().ok()
}

fn push(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!(">{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
