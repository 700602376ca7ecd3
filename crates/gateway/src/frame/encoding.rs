//! The forms in which messages go onto wires. Protocols register theirs when a gateway is made; connections of one
//! encoding share frames.

use super::definition::EncodingDef;
use super::lead;
use super::message::Message;

/// A registered form, in a byte: whether its frames name the channel can be told without a look into the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Encoding(u8);

/// The encodings of a gateway, by number. The first is the [lead](lead).
#[derive(Debug)]
pub(crate) struct Encodings(Vec<EncodingDef>);

impl Encoding {
    fn new(number: u8, def: &EncodingDef) -> Self {
        Self(if def.names_channel {
            number | NAMES_CHANNEL
        } else {
            number
        })
    }

    /// Whether frames say which channel, and which pattern, a message came by.
    #[inline]
    pub(crate) const fn names_channel(self) -> bool {
        self.0 & NAMES_CHANNEL != 0
    }

    fn index(self) -> usize {
        usize::from(self.0 & !NAMES_CHANNEL)
    }
}

impl Encodings {
    /// The one whose frame is a header in front of the unchanged payload.
    pub(crate) const LEAD: Encoding = Encoding(0);

    /// Has the lead alone.
    pub(crate) fn new() -> Self {
        Self(vec![lead::DEF])
    }

    /// Registers a form. To be called by a protocol when it is made.
    pub(crate) fn add(&mut self, def: EncodingDef) -> Encoding {
        let number = u8::try_from(self.0.len())
            .ok()
            .filter(|number| *number < NAMES_CHANNEL)
            .expect("protocols register a handful of encodings");
        self.0.push(def);
        Encoding::new(number, &def)
    }

    /// Appends a message in the lead's form.
    #[inline]
    pub(crate) fn append_lead(message: &Message<'_>, out: &mut Vec<u8>) {
        lead::append_message(message.kind, message.payload, out);
    }

    /// Whether a payload of so many bytes can be said in this form.
    pub(crate) fn carries(&self, encoding: Encoding, payload: usize) -> bool {
        payload <= self.def(encoding).most_payload
    }

    /// Appends a message in this form, which [carries](Self::carries) it.
    pub(crate) fn append(&self, encoding: Encoding, message: &Message<'_>, out: &mut Vec<u8>) {
        (self.def(encoding).append)(message, out);
    }

    /// A message in this form, in a buffer of just its size; `None`: it carries no payload of that length.
    pub(crate) fn encode(&self, encoding: Encoding, message: &Message<'_>) -> Option<Vec<u8>> {
        let def = self.def(encoding);
        if message.payload.len() > def.most_payload {
            return None;
        }
        let names = message.via.filter(|_| def.names_channel).map_or(0, |via| {
            let pattern = via.pattern.map_or(0, |pattern| pattern.as_bytes().len());
            via.channel.as_bytes().len() + pattern
        });
        let mut out = Vec::with_capacity(message.payload.len() + names + def.around);
        (def.append)(message, &mut out);
        Some(out)
    }

    fn def(&self, encoding: Encoding) -> &EncodingDef {
        self.0
            .get(encoding.index())
            .expect("an encoding is a number of this table")
    }
}

/// The bit of an encoding whose frames name the channel.
const NAMES_CHANNEL: u8 = 1 << 7;

#[cfg(test)]
mod tests {
    use super::*;
    use millrace_core::Kind;

    #[test]
    fn a_registered_encoding_says_whether_it_names_the_channel() {
        let mut encodings = Encodings::new();
        let def = EncodingDef {
            name: "short",
            names_channel: false,
            most_payload: 3,
            around: 1,
            append: |message, out| {
                out.push(b'>');
                out.extend_from_slice(message.payload);
            },
        };
        let short = encodings.add(def);
        let named = encodings.add(EncodingDef {
            name: "named",
            names_channel: true,
            ..def
        });
        assert!(!Encodings::LEAD.names_channel() && !short.names_channel());
        assert!(named.names_channel() && named != short);
        let message = |payload| Message {
            kind: Kind::Binary,
            payload,
            via: None,
        };
        assert_eq!(encodings.encode(short, &message(b"abc")).unwrap(), b">abc");
        assert_eq!(encodings.encode(named, &message(b"abcd")), None);
        assert!(encodings.carries(named, 3) && !encodings.carries(named, 4));
        assert!(encodings.carries(Encodings::LEAD, 1 << 30));
    }
}
