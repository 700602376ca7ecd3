//! Encodes messages for raw TCP: one encoding for each framing. Text and binary look the same.

use millrace_protocol::framing::{Framing, Width, append_length, append_line};

use crate::contract::{Encoding, EncodingDef, Encodings, Message};

/// The encodings that a gateway has registered for raw TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forms {
    none: Encoding,
    line: Encoding,
    length_1: Encoding,
    length_2: Encoding,
    length_4: Encoding,
}

impl Forms {
    pub(super) fn register(encodings: &Encodings) -> Self {
        Self {
            none: encodings.add(NONE),
            line: encodings.add(LINE),
            length_1: encodings.add(LENGTH_1),
            length_2: encodings.add(LENGTH_2),
            length_4: encodings.add(LENGTH_4),
        }
    }

    pub(super) fn of(self, framing: Framing) -> Encoding {
        match framing {
            Framing::None => self.none,
            Framing::Line => self.line,
            Framing::Length(Width::One) => self.length_1,
            Framing::Length(Width::Two) => self.length_2,
            Framing::Length(Width::Four) => self.length_4,
        }
    }
}

const NONE: EncodingDef = EncodingDef {
    name: "none",
    names_channel: false,
    most_payload: usize::MAX,
    around: 0,
    append: |message, out| out.extend_from_slice(message.payload),
};

const LINE: EncodingDef = EncodingDef {
    name: "line",
    around: 1,
    append: |message, out| append_line(message.payload, out),
    ..NONE
};

const LENGTH_1: EncodingDef = EncodingDef {
    name: "length-1",
    most_payload: 0xff,
    around: 1,
    append: |message, out| append(Width::One, message, out),
    ..NONE
};

const LENGTH_2: EncodingDef = EncodingDef {
    name: "length-2",
    most_payload: 0xffff,
    around: 2,
    append: |message, out| append(Width::Two, message, out),
    ..NONE
};

const LENGTH_4: EncodingDef = EncodingDef {
    name: "length-4",
    most_payload: 0xffff_ffff,
    around: 4,
    append: |message, out| append(Width::Four, message, out),
    ..NONE
};

fn append(width: Width, message: &Message<'_>, out: &mut Vec<u8>) {
    let appended = append_length(width, message.payload, out);
    debug_assert!(appended.is_ok(), "`most_payload` was checked before");
}

#[cfg(test)]
mod tests {
    use super::*;
    use millrace_core::Kind;

    #[test]
    fn each_framing_has_its_encoding() {
        let encodings = Encodings::new();
        let forms = Forms::register(&encodings);
        let encode = |framing, kind, payload: &[u8]| {
            let message = Message {
                kind,
                payload,
                via: None,
            };
            encodings.encode(forms.of(framing), &message)
        };
        for kind in [Kind::Text, Kind::Binary] {
            for (framing, frame) in [
                (Framing::None, &b"a\nb"[..]),
                (Framing::Line, b"a b\n"),
                (Framing::Length(Width::One), b"\x03a\nb"),
                (Framing::Length(Width::Two), b"\0\x03a\nb"),
                (Framing::Length(Width::Four), b"\0\0\0\x03a\nb"),
            ] {
                assert_eq!(encode(framing, kind, b"a\nb").unwrap(), frame);
            }
        }
    }

    #[test]
    fn messages_too_long_for_their_length_field_are_refused_before_encoding() {
        let encodings = Encodings::new();
        let forms = Forms::register(&encodings);
        for width in [Width::One, Width::Two, Width::Four] {
            let encoding = forms.of(Framing::Length(width));
            let most = usize::try_from(width.most_payload()).unwrap();
            assert!(encodings.carries(encoding, most));
            assert!(!encodings.carries(encoding, most + 1));
        }
        assert!(encodings.carries(forms.of(Framing::Line), usize::MAX));
    }
}
