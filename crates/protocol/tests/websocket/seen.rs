//! Feeds reads to a decoder and records its items in owned form.

use millrace_protocol::websocket::{
    DecodeError, Decoder, DecoderConfig, Input, Item, Kind, Masked, Opcode, Role, append_part,
};

/// An item or the error that ended decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Message {
        kind: Kind,
        ascii: bool,
        payload: Vec<u8>,
    },
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
    Error(DecodeError),
}

impl Seen {
    pub(crate) fn text(text: &str) -> Self {
        Self::Message {
            kind: Kind::Text,
            ascii: text.is_ascii(),
            payload: text.as_bytes().to_vec(),
        }
    }

    pub(crate) fn binary(bytes: &[u8]) -> Self {
        Self::Message {
            kind: Kind::Binary,
            ascii: false,
            payload: bytes.to_vec(),
        }
    }
}

impl From<Item<'_>> for Seen {
    fn from(item: Item<'_>) -> Self {
        match item {
            Item::Message {
                kind,
                ascii,
                payload,
            } => Self::Message {
                kind,
                ascii,
                payload: payload.into_vec(),
            },
            Item::Ping(payload) => Self::Ping(payload.to_vec()),
            Item::Pong(payload) => Self::Pong(payload.to_vec()),
            Item::Close { code, reason } => Self::Close(code, reason.to_owned()),
        }
    }
}

/// Converts an item whose message is masked. Checks that relaying it equals relaying an unmasked copy.
impl From<Item<'_, Masked<'_>>> for Seen {
    fn from(item: Item<'_, Masked<'_>>) -> Self {
        match item {
            Item::Message {
                kind,
                ascii,
                mut payload,
            } => {
                let (mut frame, mut again) = (Vec::new(), Vec::new());
                payload.append_frame(&mut frame, kind.into(), Some(FRESH));
                let payload = payload.unmask().to_vec();
                append_part(&mut again, kind.into(), true, Some(FRESH), &payload);
                assert!(frame == again, "{frame:x?} is not {again:x?}");
                Self::Message {
                    kind,
                    ascii,
                    payload,
                }
            }
            Item::Ping(payload) => Self::Ping(payload.to_vec()),
            Item::Pong(payload) => Self::Pong(payload.to_vec()),
            Item::Close { code, reason } => Self::Close(code, reason.to_owned()),
        }
    }
}

/// The masking key of the caller that relays messages.
const FRESH: [u8; 4] = [0x17, 0x00, 0xfe, 0x80];

/// Feeds one read and appends the items to `seen`. Returns the number of complete frames.
pub(crate) fn feed(
    decoder: &mut Decoder,
    config: &DecoderConfig,
    read: &[u8],
    seen: &mut Vec<Seen>,
) -> u32 {
    feed_by(read, seen, |input| {
        let item = decoder.next(input, config, 0)?;
        Ok(item.map(Seen::from))
    })
}

fn feed_by(
    read: &[u8],
    seen: &mut Vec<Seen>,
    mut next: impl FnMut(&mut Input<'_>) -> Result<Option<Seen>, DecodeError>,
) -> u32 {
    let mut read = read.to_vec();
    let mut input = Input::new(&mut read);
    loop {
        match next(&mut input) {
            Ok(Some(item)) => seen.push(item),
            Ok(None) => {
                assert!(
                    input.remaining().is_empty(),
                    "`None` means that all was consumed"
                );
                return input.frames();
            }
            Err(error) => seen.push(Seen::Error(error)),
        }
    }
}

/// Decodes these reads. Returns the items, the number of complete frames, and whether the decoder is idle afterwards.
/// Also checks that masked messages are the same, whether text is checked or not.
pub(crate) fn decode<'a>(
    config: &DecoderConfig,
    reads: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Seen>, u32, bool) {
    let reads: Vec<_> = reads.into_iter().collect();
    let found = decode_by(&reads, |decoder, read, seen| {
        feed(decoder, config, read, seen)
    });
    let masked = |config: &DecoderConfig| {
        decode_by(&reads, |decoder, read, seen| {
            feed_by(read, seen, |input| {
                let item = decoder.next_masked(input, config, 0)?;
                Ok(item.map(Seen::from))
            })
        })
    };
    assert!(masked(config) == found, "masked messages are the same");
    let unchecked = DecoderConfig {
        checks_text: false,
        ..*config
    };
    let plain = decode_by(&reads, |decoder, read, seen| {
        feed(decoder, &unchecked, read, seen)
    });
    assert!(
        masked(&unchecked) == plain,
        "unchecked masked messages are the same"
    );
    found
}

fn decode_by(
    reads: &[&[u8]],
    mut feed: impl FnMut(&mut Decoder, &[u8], &mut Vec<Seen>) -> u32,
) -> (Vec<Seen>, u32, bool) {
    let (mut decoder, mut seen, mut frames) = (Decoder::new(), Vec::new(), 0);
    for read in reads {
        frames += feed(&mut decoder, read, &mut seen);
    }
    assert!(
        !decoder.is_idle() || decoder.held_bytes() == 0,
        "an idle decoder holds nothing"
    );
    assert!(!decoder.is_idle() || decoder.unfinished_bytes() == 0);
    (seen, frames, decoder.is_idle())
}

/// The defaults of a server, with a limit on messages.
pub(crate) fn server(message_bytes: usize) -> DecoderConfig {
    DecoderConfig {
        message_bytes,
        ..DecoderConfig::default()
    }
}

/// The defaults of a client, with a limit on messages.
pub(crate) fn client(message_bytes: usize) -> DecoderConfig {
    DecoderConfig {
        role: Role::Client,
        ..server(message_bytes)
    }
}

/// A frame from a client.
pub(crate) fn masked(opcode: Opcode, fin: bool, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    append_part(
        &mut frame,
        opcode,
        fin,
        Some([0xa5, 0x5a, 0x0f, 0xf1]),
        payload,
    );
    frame
}
