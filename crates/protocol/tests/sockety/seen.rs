//! The items of a decoder, in a form that does not depend on how the input was split.

use millrace_protocol::sockety::{
    DecodeError, Decoder, DecoderConfig, FileListBuf, Head, Id, Item, Subject,
};

/// A head that owns its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) parent: Option<Id>,
    pub(crate) action: String,
    pub(crate) id: Id,
    pub(crate) expects_response: bool,
    pub(crate) has_stream: bool,
    pub(crate) data_size: u64,
    pub(crate) files: Vec<(String, u64)>,
}

impl Draft {
    /// A message without contents.
    pub(crate) fn message(id: Id, action: &str) -> Self {
        Self {
            parent: None,
            action: action.to_owned(),
            id,
            expects_response: false,
            has_stream: false,
            data_size: 0,
            files: vec![],
        }
    }

    pub(crate) fn response(parent: Id, id: Id) -> Self {
        Self {
            parent: Some(parent),
            ..Self::message(id, "")
        }
    }

    fn of(head: &Head<'_>) -> Self {
        let (parent, action) = match head.subject {
            Subject::Action(action) => (None, action),
            Subject::Parent(parent) => (Some(parent), ""),
        };
        let files: Vec<_> = head
            .files
            .iter()
            .map(|file| (file.name.to_owned(), file.size))
            .collect();
        assert_eq!(files.len(), usize::try_from(head.files.count()).unwrap());
        Self {
            parent,
            action: action.to_owned(),
            id: head.id,
            expects_response: head.expects_response,
            has_stream: head.has_stream,
            data_size: head.data_size,
            files,
        }
    }

    pub(crate) fn with<R>(&self, user: impl FnOnce(&Head<'_>) -> R) -> R {
        let mut files = FileListBuf::new();
        for (name, size) in &self.files {
            files.push(name, *size).unwrap();
        }
        user(&Head {
            subject: self
                .parent
                .map_or(Subject::Action(&self.action), Subject::Parent),
            id: self.id,
            expects_response: self.expects_response,
            has_stream: self.has_stream,
            data_size: self.data_size,
            files: files.as_list(),
        })
    }
}

/// An item that owns its bytes. Consecutive pieces of the same kind are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Header(u16),
    /// The channel, the head, and whether the message is finished.
    Message(u16, Draft, bool),
    /// The channel, the bytes, how many are missing, and whether the message is finished.
    Data(u16, Vec<u8>, u64, bool),
    /// The channel, the index and the bytes.
    File(u16, u32, Vec<u8>),
    FileEnd(u16, u32, bool),
    Stream(u16, Vec<u8>),
    StreamEnd(u16, bool),
    Abort(u16),
    FastReply(u16, Id),
    Heartbeat,
    GoAway,
    Error(DecodeError),
}

impl Seen {
    pub(crate) fn of(item: &Item<'_>) -> Self {
        match *item {
            Item::Header { channels } => Self::Header(channels),
            Item::Message {
                channel,
                head,
                finished,
            } => Self::Message(channel, Draft::of(&head), finished),
            Item::Data {
                channel,
                bytes,
                left,
                finished,
            } => Self::Data(channel, bytes.to_vec(), left, finished),
            Item::File {
                channel,
                index,
                bytes,
            } => Self::File(channel, index, bytes.to_vec()),
            Item::FileEnd {
                channel,
                index,
                finished,
            } => Self::FileEnd(channel, index, finished),
            Item::Stream { channel, bytes } => Self::Stream(channel, bytes.to_vec()),
            Item::StreamEnd { channel, finished } => Self::StreamEnd(channel, finished),
            Item::Abort { channel } => Self::Abort(channel),
            Item::FastReply { code, id } => Self::FastReply(code, id),
            Item::Heartbeat => Self::Heartbeat,
            Item::GoAway => Self::GoAway,
        }
    }

    /// Appends it to the items before it, joining pieces.
    pub(crate) fn join(self, seen: &mut Vec<Self>) {
        match (seen.last_mut(), self) {
            (Some(Self::Data(to, all, left, finished)), Self::Data(from, bytes, less, last))
                if *to == from && !*finished =>
            {
                assert_eq!(*left, less + u64::try_from(bytes.len()).unwrap());
                all.extend(bytes);
                (*left, *finished) = (less, last);
            }
            (Some(Self::File(to, file, all)), Self::File(from, index, bytes))
                if (*to, *file) == (from, index) =>
            {
                all.extend(bytes);
            }
            (Some(Self::Stream(to, all)), Self::Stream(from, bytes)) if *to == from => {
                all.extend(bytes);
            }
            (_, one) => seen.push(one),
        }
    }
}

/// Feeds pieces to a new decoder until it fails.
pub(crate) fn decode<'a>(
    config: &DecoderConfig,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Seen> {
    decode_all(config, pieces).0
}

/// Does the same, and returns the unfinished bytes at the end and whether a message is in progress.
pub(crate) fn decode_all<'a>(
    config: &DecoderConfig,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Seen>, Option<usize>, bool) {
    let (mut decoder, mut seen) = (Decoder::new(), Vec::new());
    for piece in pieces {
        if let Err(error) = feed(&mut decoder, config, piece, &mut seen) {
            seen.push(Seen::Error(error));
            nothing_follows(&mut decoder, config);
            break;
        }
        assert!(decoder.held_bytes() <= most_held(config));
        assert!(decoder.pending() <= config.pending_bytes);
    }
    (seen, decoder.unfinished(), decoder.is_busy())
}

/// Feeds one piece completely.
pub(crate) fn feed(
    decoder: &mut Decoder,
    config: &DecoderConfig,
    piece: &[u8],
    seen: &mut Vec<Seen>,
) -> Result<(), DecodeError> {
    let mut input = piece;
    while let Some(item) = decoder.next(&mut input, config)? {
        Seen::of(&item).join(seen);
    }
    assert!(input.is_empty(), "`None` means that all was consumed");
    Ok(())
}

fn nothing_follows(decoder: &mut Decoder, config: &DecoderConfig) {
    assert_eq!((decoder.unfinished(), decoder.held_bytes()), (None, 0));
    assert_eq!(decoder.pending(), 0);
    let mut input = &[0xa0, 0xa0][..];
    assert_eq!(decoder.next(&mut input, config), Ok(None));
    assert!(input.is_empty() && !decoder.is_busy());
}

/// The most memory that a decoder holds within these limits: pending messages, and the table of all channels.
pub(crate) fn most_held(config: &DecoderConfig) -> usize {
    config.pending_bytes + 33 * 4 * usize::from(config.channels)
}

/// Parses bytes from hexadecimal digits. `61*256` is a repeated byte, `U` an id, and `P` another id.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace()
        .flat_map(|word| match word.split_once('*') {
            Some((unit, count)) => digits(unit).repeat(count.parse().unwrap()),
            None => digits(word),
        })
        .collect()
}

fn digits(word: &str) -> Vec<u8> {
    match word {
        "U" => U.as_bytes().to_vec(),
        "P" => P.as_bytes().to_vec(),
        _ => (0..word.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&word[at..at + 2], 16).unwrap())
            .collect(),
    }
}

pub(crate) const U: Id = Id::new([
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x46, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
]);
pub(crate) const P: Id = Id::new([0x50; 16]);

/// Decodes a stream after the header `E3`. Returns the items without the header.
pub(crate) fn after_header(config: &DecoderConfig, text: &str) -> Vec<Seen> {
    let stream = hex(&format!("e3 {text}"));
    let mut seen = decode(config, [&stream[..]]);
    for step in 1..8 {
        assert_eq!(
            decode(config, stream.chunks(step)),
            seen,
            "{text} in {step}s"
        );
    }
    assert_eq!(seen.remove(0), Seen::Header(4096));
    seen
}
