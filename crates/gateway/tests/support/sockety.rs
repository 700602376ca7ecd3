//! Sockety for tests: a listener, a client on the codec, and the actions of a worker.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use millrace_gateway::{GatewayConfig, ListenerConfig, Options, ShardSet, SocketId};
use millrace_protocol::sockety::{
    Decoder, DecoderConfig, FileList, Head, Id, Item, Sender, Subject,
};

use super::manual::Manual;
use super::{Event, SOON, Server, serve};

/// Numbers of operations.
pub(crate) const SEND: u32 = 1;
pub(crate) const FAST_REPLY: u32 = 2;

pub(crate) fn server_with(options: Options, change: impl FnOnce(&mut ListenerConfig)) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config.limits.write_timeout = Duration::MAX;
    let mut listening = ListenerConfig {
        protocol: "sockety".to_owned(),
        options,
        ..ListenerConfig::default()
    };
    change(&mut listening);
    serve(config, listening)
}

pub(crate) fn server() -> Server {
    server_with(Options::new(), |_| {})
}

/// A client, and what it has received.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) sender: Sender,
    decoder: Decoder,
    unread: Vec<u8>,
}

/// An item that a client received, in short form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Message {
        channel: u16,
        id: Id,
        action: String,
        data: Vec<u8>,
    },
    Response {
        parent: Id,
        data: Vec<u8>,
    },
    FastReply(u16, Id),
    Heartbeat,
    GoAway,
}

impl Client {
    /// Connects and exchanges headers.
    pub(crate) fn connect(server: &Server) -> Self {
        Self::connect_to(server, &[0xe3])
    }

    /// The same for a gateway with this header.
    pub(crate) fn connect_to(server: &Server, header: &[u8]) -> Self {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(&[0xe3]).unwrap();
        let mut client = Self {
            stream,
            sender: Sender::new(4096),
            decoder: Decoder::new(),
            unread: Vec::new(),
        };
        client.unread.resize(header.len(), 0);
        client.stream.read_exact(&mut client.unread).unwrap();
        assert_eq!(client.unread, header);
        let mut input = &client.unread[..];
        let header = client.decoder.next(&mut input, &DecoderConfig::default());
        assert!(matches!(header, Ok(Some(Item::Header { .. }))));
        client.unread.clear();
        client
    }

    /// The bytes of a message with its data.
    pub(crate) fn message(&mut self, action: &str, id: Id, data: &[u8]) -> Vec<u8> {
        let head = Head {
            subject: Subject::Action(action),
            id,
            expects_response: true,
            has_stream: false,
            data_size: u64::try_from(data.len()).unwrap(),
            files: FileList::default(),
        };
        let mut out = Vec::new();
        let channel = self.sender.begin(&head, &mut out).unwrap().unwrap();
        let mut rest = data;
        while !rest.is_empty() {
            rest = &rest[self.sender.data(channel, rest, &mut out).unwrap()..];
        }
        out
    }

    pub(crate) fn send(&mut self, action: &str, id: Id, data: &[u8]) {
        let wire = self.message(action, id, data);
        self.stream.write_all(&wire).unwrap();
    }

    /// The next complete message or packet; messages come one after the other here.
    pub(crate) fn hear(&mut self) -> Option<Heard> {
        let mut heard = None;
        loop {
            let mut input = &self.unread[..];
            let mut done = false;
            while !done && !input.is_empty() {
                let config = DecoderConfig::default();
                let Some(item) = self.decoder.next(&mut input, &config).unwrap() else {
                    break;
                };
                done = take(item, &mut heard);
            }
            self.unread = input.to_vec();
            if done {
                return heard;
            }
            let mut buffer = [0; 16 * 1024];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.unread.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Takes an item. Returns whether its message is complete.
fn take(item: Item<'_>, heard: &mut Option<Heard>) -> bool {
    let (now, is_whole) = match item {
        Item::Message {
            channel,
            head,
            finished,
        } => {
            let now = match head.subject {
                Subject::Action(action) => Heard::Message {
                    channel,
                    id: head.id,
                    action: action.to_owned(),
                    data: Vec::new(),
                },
                Subject::Parent(parent) => Heard::Response {
                    parent,
                    data: Vec::new(),
                },
            };
            (now, finished)
        }
        Item::Data {
            bytes, finished, ..
        } => {
            match heard {
                Some(Heard::Message { data, .. } | Heard::Response { data, .. }) => {
                    data.extend_from_slice(bytes);
                }
                other => panic!("data after {other:?}"),
            }
            return finished;
        }
        Item::FastReply { code, id } => (Heard::FastReply(code, id), true),
        Item::Heartbeat => (Heard::Heartbeat, true),
        Item::GoAway => (Heard::GoAway, true),
        other => panic!("{other:?}"),
    };
    *heard = Some(now);
    is_whole
}

/// The contents of a message's event.
#[derive(Debug)]
pub(crate) struct Told {
    /// Bits: whether it is a response, expects one, has a stream.
    pub(crate) flags: u32,
    pub(crate) number: u64,
    pub(crate) id: Id,
    pub(crate) parent: Id,
    pub(crate) data_size: u64,
    pub(crate) files: Vec<(String, u64)>,
    /// The transfer of its data, 0 if there is none.
    pub(crate) data: u64,
    pub(crate) stream: u64,
    pub(crate) action: String,
    pub(crate) payload: Vec<u8>,
}

/// Reads a message's event.
pub(crate) fn told(event: &Event) -> Told {
    let Event::Told {
        number: 2,
        fields,
        payload,
        ..
    } = event
    else {
        panic!("the event was {event:?}")
    };
    let long = |at: usize| u64::from_le_bytes(fields[at..at + 8].try_into().unwrap());
    let word = |at: usize| u32::from_le_bytes(fields[at..at + 4].try_into().unwrap());
    let id = |at: usize| Id::new(fields[at..at + 16].try_into().unwrap());
    let text = |at: usize| {
        let end = at + 4 + usize::try_from(word(at)).unwrap();
        let text = String::from_utf8(fields[at + 4..end].to_vec()).unwrap();
        (text, end)
    };
    let (action, mut at) = text(80);
    let mut files = Vec::new();
    while at < fields.len() {
        let (name, end) = text(at + 8);
        files.push((name, long(at)));
        at = end;
    }
    assert_eq!(word(4), u32::try_from(files.len()).unwrap());
    assert_eq!(long(56), files.iter().map(|file| file.1).sum::<u64>());
    Told {
        flags: word(0),
        number: long(8),
        id: id(16),
        parent: id(32),
        data_size: long(48),
        files,
        data: long(64),
        stream: long(72),
        action,
        payload: payload.clone(),
    }
}

/// Sends an instruction to the session of a socket.
pub(crate) fn tell(
    worker: &Manual,
    socket: SocketId,
    operation: u32,
    (fields, data): (&[u8], &[u8]),
) {
    let mut dirty = ShardSet::default();
    let gateway = &worker.gateway;
    assert!(gateway.tell(socket, operation, fields, data, &mut dirty));
    gateway.wake(&mut dirty);
}

/// Answers a message.
pub(crate) fn respond(worker: &Manual, socket: SocketId, parent: Id, data: &[u8]) {
    let fields = [&1_u32.to_le_bytes()[..], &[5; 16], parent.as_bytes()].concat();
    tell(worker, socket, SEND, (&fields, data));
}

/// Answers with a code.
pub(crate) fn fast_reply(worker: &Manual, socket: SocketId, parent: Id, code: u32) {
    let fields = [&code.to_le_bytes()[..], parent.as_bytes()].concat();
    tell(worker, socket, FAST_REPLY, (&fields, b""));
}
