//! No bytes make the decoder of Sockety panic, hold more than its limits or much more than it was given, yield contents
//! that it was not given, decode differently when they come in pieces, or yield messages that do not decode to
//! themselves when they are encoded again. The first six bytes choose how the rest is split, and the limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_fuzz::cut;
use millrace_protocol::sockety::{
    ABORT, DecodeError, Decoder, DecoderConfig, FileListBuf, GO_AWAY, HEARTBEAT, Head, Id, Item,
    STREAM_END, Subject, append_data_head, append_fast_reply, append_file_end, append_file_head,
    append_head, append_header, append_stream_head, append_switch,
};

/// The items in a form that can be compared, with consecutive pieces of one kind joined.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Header(u16),
    Message(u16, Message, bool),
    Data(u16, Vec<u8>, u64, bool),
    File(u16, u32, Vec<u8>),
    FileEnd(u16, u32, bool),
    Stream(u16, Vec<u8>),
    StreamEnd(u16, bool),
    Abort(u16),
    FastReply(u16, Id),
    Heartbeat,
    GoAway,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    action: Option<String>,
    parent: Option<Id>,
    id: Id,
    bits: (bool, bool),
    data_size: u64,
    files: Vec<(String, u64)>,
}

fuzz_target!(|bytes: &[u8]| {
    let [step, other, channels, head, files, pending, stream @ ..] = bytes else {
        return;
    };
    let config = DecoderConfig {
        channels: u16::from(*channels) * 16 + 1,
        head_bytes: usize::from(*head) * 8,
        files: u32::from(*files),
        pending_bytes: usize::from(*pending) * 64,
        enforce_file_sizes: *files % 2 == 0,
    };
    let whole = decode(&config, [stream]);
    let steps = [usize::from(*step) + 1, usize::from(*other) + 1];
    assert_eq!(decode(&config, cut(stream, steps)), whole);
    assert_eq!(decode(&config, stream.chunks(1)), whole);

    let (seen, _) = whole;
    let friend = DecoderConfig {
        enforce_file_sizes: config.enforce_file_sizes,
        ..DecoderConfig::default()
    };
    if let Some(written) = write(&seen) {
        assert_eq!(decode(&friend, [&written[..]]), (seen, None));
    }
});

fn decode<'a>(
    config: &DecoderConfig,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Seen>, Option<DecodeError>) {
    let (mut decoder, mut seen) = (Decoder::new(), Vec::new());
    let (mut given, mut lent) = (0, 0);
    for piece in pieces {
        let mut input = piece;
        given += piece.len();
        loop {
            match decoder.next(&mut input, config) {
                Ok(Some(item)) => lent += see(item, &mut seen),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!((decoder.held_bytes(), decoder.unfinished()), (0, None));
                    return (seen, Some(error));
                }
            }
        }
        assert!(input.is_empty() && lent <= given);
        assert!(decoder.unfinished().unwrap_or_default() <= given);
        let held = decoder.held_bytes();
        let table = 33 * 4 * usize::from(config.channels);
        assert!(held <= config.pending_bytes + table);
        // two bytes can begin a head, which takes a value of its own and a slot in a growing table
        assert!(
            held <= 160 * given + 600,
            "{held} bytes are held for {given}"
        );
    }
    (seen, None)
}

/// Adds an item. Returns how many bytes of contents it has.
fn see(item: Item<'_>, seen: &mut Vec<Seen>) -> usize {
    let mut lent = 0;
    let one = match item {
        Item::Header { channels } => Seen::Header(channels),
        Item::Message {
            channel,
            head,
            finished,
        } => Seen::Message(channel, message(&head), finished),
        Item::Data {
            channel,
            bytes,
            left,
            finished,
        } => {
            lent = bytes.len();
            if let Some(Seen::Data(to, all, before, false)) = seen.last_mut()
                && *to == channel
            {
                assert_eq!(*before, left + lent as u64);
                all.extend_from_slice(bytes);
                let all = std::mem::take(all);
                seen.pop();
                Seen::Data(channel, all, left, finished)
            } else {
                Seen::Data(channel, bytes.to_vec(), left, finished)
            }
        }
        Item::File {
            channel,
            index,
            bytes,
        } => {
            lent = bytes.len();
            if let Some(Seen::File(to, file, all)) = seen.last_mut()
                && (*to, *file) == (channel, index)
            {
                all.extend_from_slice(bytes);
                return lent;
            }
            Seen::File(channel, index, bytes.to_vec())
        }
        Item::Stream { channel, bytes } => {
            lent = bytes.len();
            if let Some(Seen::Stream(to, all)) = seen.last_mut()
                && *to == channel
            {
                all.extend_from_slice(bytes);
                return lent;
            }
            Seen::Stream(channel, bytes.to_vec())
        }
        Item::FileEnd {
            channel,
            index,
            finished,
        } => Seen::FileEnd(channel, index, finished),
        Item::StreamEnd { channel, finished } => Seen::StreamEnd(channel, finished),
        Item::Abort { channel } => Seen::Abort(channel),
        Item::FastReply { code, id } => Seen::FastReply(code, id),
        Item::Heartbeat => Seen::Heartbeat,
        Item::GoAway => Seen::GoAway,
    };
    seen.push(one);
    lent
}

fn message(head: &Head<'_>) -> Message {
    let (action, parent) = match head.subject {
        Subject::Action(action) => (Some(action.to_owned()), None),
        Subject::Parent(parent) => (None, Some(parent)),
    };
    let files = head
        .files
        .iter()
        .map(|file| (file.name.to_owned(), file.size));
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), head.files.count() as usize);
    Message {
        action,
        parent,
        id: head.id,
        bits: (head.expects_response, head.has_stream),
        data_size: head.data_size,
        files,
    }
}

/// Encodes the same items. `None` if there is a file before its message, or the end of a message whose head was never
/// complete, which the encoder cannot write.
fn write(seen: &[Seen]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut begun = std::collections::BTreeSet::new();
    let on = |channel: u16, out: &mut Vec<u8>| append_switch(channel, out).unwrap();
    for one in seen {
        match one {
            Seen::Header(channels) => append_header(*channels, &mut out),
            Seen::Message(channel, message, finished) => {
                on(*channel, &mut out);
                let mut files = FileListBuf::new();
                for (name, size) in &message.files {
                    files.push(name, *size).ok()?;
                }
                let subject = match (&message.action, message.parent) {
                    (_, Some(parent)) => Subject::Parent(parent),
                    (action, None) => Subject::Action(action.as_deref().unwrap_or_default()),
                };
                let head = Head {
                    subject,
                    id: message.id,
                    expects_response: message.bits.0,
                    has_stream: message.bits.1,
                    data_size: message.data_size,
                    files: files.as_list(),
                };
                append_head(&head, &mut out).unwrap();
                if !finished {
                    begun.insert(*channel);
                }
            }
            Seen::Data(channel, bytes, _, finished) => {
                on(*channel, &mut out);
                append_data_head(bytes.len() as u32, &mut out);
                out.extend_from_slice(bytes);
                if *finished {
                    begun.remove(channel);
                }
            }
            Seen::File(channel, index, bytes) => {
                begun.get(channel)?;
                on(*channel, &mut out);
                append_file_head(*index, bytes.len() as u32, &mut out).unwrap();
                out.extend_from_slice(bytes);
            }
            Seen::FileEnd(channel, index, finished) => {
                begun.get(channel)?;
                on(*channel, &mut out);
                append_file_end(*index, &mut out).unwrap();
                if *finished {
                    begun.remove(channel);
                }
            }
            Seen::Stream(channel, bytes) => {
                on(*channel, &mut out);
                append_stream_head(bytes.len() as u32, &mut out);
                out.extend_from_slice(bytes);
            }
            Seen::StreamEnd(channel, finished) => {
                on(*channel, &mut out);
                out.push(STREAM_END);
                if *finished {
                    begun.remove(channel);
                }
            }
            Seen::Abort(channel) => {
                begun.take(channel)?;
                on(*channel, &mut out);
                out.push(ABORT);
            }
            Seen::FastReply(code, id) => append_fast_reply(*code, *id, &mut out).unwrap(),
            Seen::Heartbeat => out.push(HEARTBEAT),
            Seen::GoAway => out.push(GO_AWAY),
        }
    }
    Some(out)
}
