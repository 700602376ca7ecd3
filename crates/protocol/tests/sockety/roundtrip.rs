//! Encoded messages decode to themselves: in the smallest widths and in wider ones, with heads and input split
//! anywhere.

use millrace_protocol::sockety::{
    DecoderConfig, EncodeError, FileListBuf, Id, append_body, append_fast_reply, append_file_end,
    append_file_head, append_head, append_payload, append_stream_head, append_switch,
};
use proptest::prelude::*;

use crate::chunks::pieces;
use crate::seen::{Draft, Seen, U, decode};
use crate::wide::Wide;

/// A message with its contents, and the packet before it.
#[derive(Debug, Clone)]
pub(crate) struct Whole {
    pub(crate) channel: u16,
    pub(crate) draft: Draft,
    pub(crate) data: Vec<u8>,
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) stream: Vec<u8>,
    /// A fast reply, or a heartbeat.
    pub(crate) before: Option<(u16, Id)>,
}

pub(crate) fn whole() -> impl Strategy<Value = Whole> {
    let id = || any::<[u8; 16]>().prop_map(Id::new);
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let text = || prop_oneof![8 => "\\PC{0,12}", 1 => "[a-z]{250,300}"];
    let channel = prop_oneof![0..20u16, 0..4096u16];
    let head = (
        prop::option::weighted(0.3, id()),
        text(),
        id(),
        any::<(bool, bool)>(),
    );
    let files = prop::collection::vec((text(), bytes(300)), 0..4);
    let contents = (prop_oneof![Just(vec![]), bytes(400)], files, bytes(300));
    let before = prop::option::of((0..4096u16, id()));
    (channel, head, contents, before).prop_map(|(channel, head, contents, before)| {
        let (parent, action, id, (expects_response, has_stream)) = head;
        let (data, files, stream) = contents;
        let (names, files): (Vec<_>, Vec<_>) = files.into_iter().unzip();
        let size = |bytes: &Vec<u8>| u64::try_from(bytes.len()).unwrap();
        let draft = Draft {
            action: if parent.is_some() {
                String::new()
            } else {
                action
            },
            parent,
            id,
            expects_response,
            has_stream,
            data_size: size(&data),
            files: names.into_iter().zip(files.iter().map(size)).collect(),
        };
        Whole {
            channel,
            draft,
            data,
            files,
            stream: if has_stream { stream } else { vec![] },
            before,
        }
    })
}

impl Whole {
    /// Encodes it with our encoder, in the smallest widths.
    fn write(&self, out: &mut Vec<u8>) {
        match self.before {
            Some((code, id)) => append_fast_reply(code, id, out).unwrap(),
            None => out.push(0xa0),
        }
        append_switch(self.channel, out).unwrap();
        self.draft.with(|head| append_head(head, out).unwrap());
        append_payload(&self.data, out);
        for (index, file) in (0..).zip(&self.files) {
            if !file.is_empty() {
                append_file_head(index, u32::try_from(file.len()).unwrap(), out).unwrap();
                out.extend(file);
            }
            append_file_end(index, out).unwrap();
        }
        if self.draft.has_stream {
            if !self.stream.is_empty() {
                append_stream_head(u32::try_from(self.stream.len()).unwrap(), out);
                out.extend(&self.stream);
            }
            out.push(0x80);
        }
    }

    /// Encodes it as another implementation might, split at these positions.
    fn write_wide(&self, wide: &mut Wide<'_>, cuts: &[usize], out: &mut Vec<u8>) {
        match self.before {
            Some((code, id)) => wide.fast_reply(code, id.as_bytes(), out),
            None => out.push(0xaf),
        }
        wide.switch(self.channel, out);
        let (first, body) = wide.message(&self.draft);
        // a complete head is not continued, not even by an empty packet
        let is_needed = |piece: &&[u8]| !piece.is_empty();
        let mut body = pieces(&body, cuts).into_iter();
        wide.packet(first, body.next().unwrap_or_default(), out);
        for piece in body.filter(is_needed) {
            wide.packet(0x60, piece, out);
        }
        for piece in pieces(&self.data, cuts).into_iter().filter(is_needed) {
            wide.packet(0xe0, piece, out);
        }
        for (index, file) in (0..).zip(&self.files) {
            for piece in pieces(file, cuts) {
                wide.file(index, piece, out);
            }
            wide.file_end(index, out);
        }
        if self.draft.has_stream {
            for piece in pieces(&self.stream, cuts) {
                wide.packet(0x70, piece, out);
            }
            out.push(0x8f);
        }
    }

    /// The items that its receiver must see.
    fn expect(&self, seen: &mut Vec<Seen>) {
        seen.push(match self.before {
            Some((code, id)) => Seen::FastReply(code, id),
            None => Seen::Heartbeat,
        });
        let (channel, has_stream) = (self.channel, self.draft.has_stream);
        let has_files = !self.files.is_empty();
        let finished = self.data.is_empty() && !has_files && !has_stream;
        seen.push(Seen::Message(channel, self.draft.clone(), finished));
        if !self.data.is_empty() {
            let finished = !has_files && !has_stream;
            seen.push(Seen::Data(channel, self.data.clone(), 0, finished));
        }
        for (index, file) in (0..).zip(&self.files) {
            if !file.is_empty() {
                seen.push(Seen::File(channel, index, file.clone()));
            }
            let is_last = usize::try_from(index).unwrap() + 1 == self.files.len();
            seen.push(Seen::FileEnd(channel, index, is_last && !has_stream));
        }
        if has_stream {
            if !self.stream.is_empty() {
                seen.push(Seen::Stream(channel, self.stream.clone()));
            }
            seen.push(Seen::StreamEnd(channel, true));
        }
    }
}

proptest! {
    #[test]
    fn encoded_messages_decode_to_themselves(
        messages in prop::collection::vec(whole(), 0..5),
        choices in prop::collection::vec(0..4u8, 1..20),
        body_cuts in prop::collection::vec(any::<usize>(), 0..4),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let config = DecoderConfig::default();
        let (mut small, mut large) = (vec![0xe3], vec![0xe3]);
        let (mut wide, mut expected) = (Wide::new(&choices), vec![Seen::Header(4096)]);
        for message in &messages {
            message.write(&mut small);
            message.write_wide(&mut wide, &body_cuts, &mut large);
            message.expect(&mut expected);
        }
        prop_assert_eq!(&decode(&config, [&small[..]]), &expected);
        prop_assert_eq!(&decode(&config, pieces(&small, &cuts)), &expected);
        prop_assert_eq!(&decode(&config, [&large[..]]), &expected);
        prop_assert_eq!(&decode(&config, pieces(&large, &cuts)), &expected);
    }

    #[test]
    fn the_encoder_chooses_the_smallest_widths(message in whole()) {
        let mut written = Vec::new();
        message.draft.with(|head| append_head(head, &mut written).unwrap());
        let mut expected = Vec::new();
        let mut wide = Wide::new(&[0]);
        let (first, body) = wide.message(&message.draft);
        wide.packet(first, &body, &mut expected);
        prop_assert_eq!(written, expected);
    }
}

#[test]
fn sizes_at_the_limits_of_their_widths_are_encoded() {
    let config = DecoderConfig::default();
    let borders = [0, 1, 8, 16, 24, 32, 47, 48].map(|bits| 1u64 << bits);
    let sizes = borders.iter().flat_map(|border| [border - 1, *border]);
    for size in sizes.filter(|size| *size < 1 << 48) {
        let draft = Draft {
            data_size: size,
            files: vec![("f".to_owned(), size)],
            ..Draft::message(U, "a")
        };
        let mut stream = vec![0xe3];
        draft.with(|head| append_head(head, &mut stream).unwrap());
        let expected = [Seen::Header(4096), Seen::Message(0, draft, false)];
        assert_eq!(decode(&config, [&stream[..]]), expected);
        assert_eq!(decode(&config, stream.chunks(1)), expected);
    }
}

#[test]
fn the_longest_texts_are_encoded() {
    let config = DecoderConfig::default();
    for length in [0, 255, 256, 65_535] {
        let text = "t".repeat(length);
        let draft = Draft {
            files: vec![(text.clone(), 0); 2],
            ..Draft::message(U, &text)
        };
        let mut stream = vec![0xe3];
        draft.with(|head| append_head(head, &mut stream).unwrap());
        let expected = [Seen::Header(4096), Seen::Message(0, draft, false)];
        assert_eq!(decode(&config, [&stream[..]]), expected);
        let step = if length > 256 { 997 } else { 1 };
        assert_eq!(decode(&config, stream.chunks(step)), expected);
    }
}

#[test]
fn values_that_cannot_be_encoded_are_not_appended() {
    let text = "t".repeat(65_536);
    let mut files = FileListBuf::new();
    assert_eq!(files.push(&text, 0), Err(EncodeError::NameTooLong(65_536)));
    assert_eq!(files.push("", 1 << 48), Err(EncodeError::TooBig(1 << 48)));
    files.push("", (1 << 48) - 1).unwrap();
    assert_eq!(files.push("", 1), Err(EncodeError::TooBig(1 << 48)));
    assert_eq!(files.as_list().count(), 1);

    let mut out = Vec::new();
    let mut refused = |draft: &Draft, error| {
        let said = draft.with(|head| append_head(head, &mut out));
        assert_eq!(said, Err(error));
        assert_eq!(draft.with(|head| append_body(head, &mut out)), Err(error));
    };
    refused(
        &Draft::message(U, &text),
        EncodeError::ActionTooLong(65_536),
    );
    let draft = Draft {
        data_size: 1 << 48,
        ..Draft::message(U, "")
    };
    refused(&draft, EncodeError::TooBig(1 << 48));
    let none = EncodeError::Channel(4096);
    assert_eq!(append_switch(4096, &mut out), Err(none));
    let none = EncodeError::Code(4096);
    assert_eq!(append_fast_reply(4096, U, &mut out), Err(none));
    let none = EncodeError::FileIndex(1 << 24);
    assert_eq!(append_file_head(1 << 24, 0, &mut out), Err(none));
    assert_eq!(append_file_end(1 << 24, &mut out), Err(none));
    assert!(out.is_empty());
}
