//! The packets of other implementations, parsed from `vectors.txt`.

use millrace_protocol::sockety::Id;

use crate::seen::{Draft, hex};

/// A vector, packet by packet.
#[derive(Debug, Clone)]
pub(crate) struct Vector {
    pub(crate) name: &'static str,
    after: Option<&'static str>,
    pub(crate) lines: Vec<(Vec<u8>, Packet)>,
}

#[derive(Debug, Clone)]
pub(crate) enum Packet {
    Header(u16),
    Switch(u16),
    /// A head, and the number of bytes of its body in this packet, if it has not all of them.
    Message(Draft, Option<usize>),
    Continue(usize),
    /// The size of the packet, and the bytes of it in the file.
    Data(u32, Vec<u8>),
    Stream(u32, Vec<u8>),
    StreamEnd,
    File(u32, u32, Vec<u8>),
    FileEnd(u32),
    FastReply(u16, Id),
    Heartbeat,
    GoAway,
    Abort,
    /// The bytes from here on are refused because of this first byte.
    Refused(u8),
}

/// Parses all vectors.
pub(crate) fn vectors() -> Vec<Vector> {
    let mut vectors: Vec<Vector> = Vec::new();
    for line in include_str!("vectors.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(packet) = line.strip_prefix("  ") {
            let (bytes, says) = packet.split_once(" | ").unwrap();
            vectors
                .last_mut()
                .unwrap()
                .lines
                .push((hex(bytes), packet_of(says)));
        } else {
            let (name, after) = line.split_once(" after ").unzip();
            vectors.push(Vector {
                name: name.unwrap_or(line),
                after,
                lines: vec![],
            });
        }
    }
    vectors
}

fn packet_of(says: &'static str) -> Packet {
    let (name, rest) = says.split_once(' ').unwrap_or((says, ""));
    let (first, behind) = rest.split_once(' ').unwrap_or((rest, ""));
    let (second, bytes) = behind.split_once(' ').unwrap_or((behind, ""));
    let number = |word: &str| word.parse().unwrap();
    let twelve = |word: &str| word.parse().unwrap();
    match name {
        "header" => Packet::Header(twelve(first)),
        "switch" => Packet::Switch(twelve(first)),
        "message" => message(Draft::message(id(first), ""), behind),
        "response" => message(Draft::response(id(first), id(second)), bytes),
        "continue" => Packet::Continue(first.parse().unwrap()),
        "data" => Packet::Data(number(first), hex(behind)),
        "stream" => Packet::Stream(number(first), hex(behind)),
        "stream-end" => Packet::StreamEnd,
        "file" => Packet::File(number(first), number(second), hex(bytes)),
        "file-end" => Packet::FileEnd(number(first)),
        "fast-reply" => Packet::FastReply(twelve(first), id(second)),
        "heartbeat" => Packet::Heartbeat,
        "go-away" => Packet::GoAway,
        "abort" => Packet::Abort,
        "refused" => Packet::Refused(hex(first)[0]),
        _ => panic!("{says}"),
    }
}

fn message(mut draft: Draft, says: &str) -> Packet {
    let mut first = None;
    for word in says.split_whitespace() {
        match word.split_once('=') {
            Some(("data", size)) => draft.data_size = size.parse().unwrap(),
            Some(("first", bytes)) => first = bytes.parse().ok(),
            Some(("file", file)) => {
                let (size, name) = file.split_once(':').unwrap();
                let (name, times) = quoted(name);
                let one = |name| (name, size.parse().unwrap());
                if name.is_empty() {
                    draft.files.extend(vec![one(name); times]);
                } else {
                    draft.files.push(one(name.repeat(times)));
                }
            }
            None if word == "expects-response" => draft.expects_response = true,
            None if word == "has-stream" => draft.has_stream = true,
            _ => {
                let (action, times) = quoted(word);
                draft.action = action.repeat(times);
            }
        }
    }
    Packet::Message(draft, first)
}

/// Parses a quoted text and its repetition count.
fn quoted(word: &str) -> (String, usize) {
    let (text, times) = word.rsplit_once('"').unwrap();
    let times = times
        .strip_prefix('*')
        .map_or(1, |times| times.parse().unwrap());
    (text.strip_prefix('"').unwrap().to_owned(), times)
}

fn id(text: &str) -> Id {
    let bytes = hex(&text.replace('-', ""));
    let id = Id::new(bytes.try_into().unwrap());
    assert_eq!(id.to_string(), text);
    id
}

impl Vector {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lines
            .iter()
            .flat_map(|(bytes, _)| bytes.clone())
            .collect()
    }

    /// Whether the packet is a fault of the implementation.
    pub(crate) fn is_mistake(&self) -> bool {
        self.name.starts_with("BUG-")
    }

    fn begins_with_header(&self) -> bool {
        matches!(self.lines[0].1, Packet::Header(_))
    }

    /// All lines, including lines of earlier vectors that this one depends on.
    pub(crate) fn whole(&self) -> Self {
        let mut whole = self.clone();
        if let Some(before) = self.after {
            let all = vectors();
            let before = all.iter().find(|vector| vector.name == before).unwrap();
            whole.lines.splice(0..0, before.lines.clone());
        }
        if !whole.begins_with_header() {
            whole.lines.insert(0, (vec![0xe3], Packet::Header(4096)));
        }
        whole
    }

    /// A complete stream that can be decoded.
    pub(crate) fn stream(&self) -> Vec<u8> {
        self.whole().bytes()
    }
}
