//! The encodings of messages on the wire. A protocol registers its encodings when a gateway is made, and those with a
//! word of a listener when the listener is made. Connections with the same encoding share frames.

use std::fmt;
use std::sync::OnceLock;

use millrace_core::Annotation;
use parking_lot::Mutex;

use super::compressed::{Compressed, CompressionTerms};
use super::definition::{EncodingDef, WordedDef};
use super::headed::HeadedDef;
use super::lead::{self, HEAD_ROOM};
use super::message::Message;
use crate::stats::CompressionCounts;

/// A registered encoding in one byte, which also says whether its frames name the channel, without a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Encoding(u8);

/// The encodings of a gateway, by number. The first is the [lead](lead). None is ever removed.
pub(crate) struct Encodings {
    entries: [OnceLock<Entry>; MOST],
    /// The number of encodings.
    count: Mutex<usize>,
    compression: CompressionCounts,
}

#[derive(Debug)]
struct Entry {
    def: EncodingDef,
    form: Form,
}

/// How an encoding is made.
#[derive(Debug)]
enum Form {
    /// By its definition.
    Defined,
    /// With the word that a listener chose, by the definition for it.
    Worded(Box<str>, WordedDef),
    /// As the lead, with a head in front of the payload.
    Headed(HeadedDef),
    /// As the lead, compressed; or with a head, and then compressed.
    Compressed(Box<Compressed>),
}

impl Entry {
    fn append(&self, message: &Message<'_>, counts: &CompressionCounts, out: &mut Vec<u8>) {
        match &self.form {
            Form::Defined => (self.def.append)(message, out),
            Form::Worded(word, worded) => (worded.append)(word, message, out),
            Form::Headed(headed) => headed.append_frame(message, out),
            Form::Compressed(compressed) => match compressed.head {
                None => {
                    compressed.append(message, &[], counts, out);
                }
                Some(head) => {
                    let bytes = head.with_head(message);
                    let payload = bytes.get(HEAD_ROOM..).unwrap_or_default();
                    let message = Message {
                        payload,
                        ..*message
                    };
                    compressed.append(&message, &[], counts, out);
                }
            },
        }
    }

    /// Appends a message without compression.
    fn append_plain(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        match self.head() {
            Some(head) => head.append_frame(message, out),
            None => lead::append_message(message.kind, message.payload, out),
        }
    }

    /// What goes in front of a payload.
    fn head(&self) -> Option<HeadedDef> {
        match &self.form {
            Form::Headed(headed) => Some(*headed),
            Form::Compressed(compressed) => compressed.head,
            Form::Defined | Form::Worded(..) => None,
        }
    }

    fn compressed(&self) -> Option<&Compressed> {
        match &self.form {
            Form::Compressed(compressed) => Some(compressed),
            Form::Defined | Form::Worded(..) | Form::Headed(_) => None,
        }
    }
}

impl fmt::Debug for Encodings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().filter_map(OnceLock::get);
        f.debug_list().entries(entries).finish()
    }
}

impl Encoding {
    fn new(number: u8, def: &EncodingDef) -> Self {
        Self(if def.names_channel {
            number | NAMES_CHANNEL
        } else {
            number
        })
    }

    /// Whether frames name the channel and the pattern of a message.
    #[inline]
    pub(crate) const fn names_channel(self) -> bool {
        self.0 & NAMES_CHANNEL != 0
    }

    fn index(self) -> usize {
        usize::from(self.0 & !NAMES_CHANNEL)
    }
}

impl Encodings {
    /// The encoding whose frame is a header in front of the unchanged payload.
    pub(crate) const LEAD: Encoding = Encoding(0);

    /// A table with only the lead.
    pub(crate) fn new() -> Self {
        let made = Self {
            entries: [const { OnceLock::new() }; MOST],
            count: Mutex::new(0),
            compression: CompressionCounts::default(),
        };
        made.add(lead::DEF);
        made
    }

    /// Registers an encoding. A protocol calls it when it is made.
    pub(crate) fn add(&self, def: EncodingDef) -> Encoding {
        let mut count = self.count.lock();
        let form = Form::Defined;
        self.push(&mut count, Entry { def, form })
            .expect("protocols register a handful of encodings")
    }

    /// The encoding of a definition with this word, registered if it is new. `None`: too many are registered.
    pub(crate) fn worded(&self, worded: WordedDef, word: &str) -> Option<Encoding> {
        let mut count = self.count.lock();
        let known = self.entries.iter().map_while(OnceLock::get).position(
            |entry| matches!(&entry.form, Form::Worded(known, def) if &**known == word && def.def.name == worded.def.name),
        );
        let def = EncodingDef {
            around: worded.def.around + word.len(),
            ..worded.def
        };
        if let Some(Ok(number)) = known.map(u8::try_from) {
            return Some(Encoding::new(number, &def));
        }
        let form = Form::Worded(word.into(), worded);
        self.push(&mut count, Entry { def, form })
    }

    /// Registers an encoding whose frames have a head in front of the payload.
    pub(crate) fn headed(&self, headed: HeadedDef) -> Encoding {
        let mut count = self.count.lock();
        let form = Form::Headed(headed);
        let def = headed.definition();
        self.push(&mut count, Entry { def, form })
            .expect("protocols register a handful of encodings")
    }

    /// The encoding of messages that are compressed on these terms, registered if it is new. `None`: too many are
    /// registered.
    pub(crate) fn compressed(&self, terms: CompressionTerms) -> Option<Encoding> {
        self.compressed_as(terms, None)
    }

    /// Like [`compressed`](Self::compressed), for messages in an encoding that has a head.
    pub(crate) fn compressed_headed(
        &self,
        terms: CompressionTerms,
        headed: HeadedDef,
    ) -> Option<Encoding> {
        self.compressed_as(terms, Some(headed))
    }

    fn compressed_as(&self, terms: CompressionTerms, head: Option<HeadedDef>) -> Option<Encoding> {
        let mut count = self.count.lock();
        let def = match head {
            None => EncodingDef {
                name: "compressed websocket",
                ..lead::DEF
            },
            Some(headed) => headed.definition(),
        };
        let is_it = |entry: &Entry| {
            entry.compressed().is_some_and(|known| {
                known.terms == terms
                    && known.head.map(|head| head.name) == head.map(|head| head.name)
            })
        };
        let mut entries = self.entries.iter().map_while(OnceLock::get);
        if let Some(known) = entries.position(is_it) {
            return Some(Encoding::new(u8::try_from(known).ok()?, &def));
        }
        let form = Form::Compressed(Box::new(Compressed::new(terms, head)));
        self.push(&mut count, Entry { def, form })
    }

    /// How messages in this encoding are compressed; `None`: they are not.
    pub(crate) fn compression(&self, encoding: Encoding) -> Option<&Compressed> {
        self.entry(encoding).compressed()
    }

    /// Whether its frames show the mark of a virtual socket, so that the payload is not marked.
    pub(crate) fn shows_marks(&self, encoding: Encoding) -> bool {
        self.entry(encoding).head().is_some()
    }

    /// The head of a message for one virtual socket behind [`HEAD_ROOM`] bytes; `None`: the payload is marked.
    pub(crate) fn direct_head(&self, (encoding, mark): (Encoding, &Annotation)) -> Option<Vec<u8>> {
        let head = self.entry(encoding).head()?;
        let mut bytes = vec![0; HEAD_ROOM];
        (head.append_direct)(mark, &mut bytes);
        Some(bytes)
    }

    /// What is compressed in this encoding, if it is not the payload alone, behind [`HEAD_ROOM`] bytes.
    pub(crate) fn headed_payload(
        &self,
        encoding: Encoding,
        message: &Message<'_>,
    ) -> Option<Vec<u8>> {
        let entry = self.entry(encoding);
        let head = entry.compressed()?.head?;
        Some(head.with_head(message))
    }

    /// Appends a message without compression, in an encoding that may compress it.
    pub(crate) fn append_plain(
        &self,
        encoding: Encoding,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) {
        self.entry(encoding).append_plain(message, out);
    }

    /// What compression has done.
    pub(crate) fn compression_counts(&self) -> &CompressionCounts {
        &self.compression
    }

    fn push(&self, count: &mut usize, entry: Entry) -> Option<Encoding> {
        let number = u8::try_from(*count).ok()?;
        let place = self.entries.get(*count)?;
        let entry = place.get_or_init(|| entry);
        *count += 1;
        Some(Encoding::new(number, &entry.def))
    }

    /// Appends a message in the lead encoding.
    #[inline]
    pub(crate) fn append_lead(message: &Message<'_>, out: &mut Vec<u8>) {
        lead::append_message(message.kind, message.payload, out);
    }

    /// Whether this encoding can carry a payload of this many bytes.
    pub(crate) fn carries(&self, encoding: Encoding, payload: usize) -> bool {
        payload <= self.entry(encoding).def.most_payload
    }

    /// Appends a message in an encoding that [carries](Self::carries) it.
    pub(crate) fn append(&self, encoding: Encoding, message: &Message<'_>, out: &mut Vec<u8>) {
        self.entry(encoding).append(message, &self.compression, out);
    }

    /// Encodes a message into a buffer of its exact size; `None`: the encoding cannot carry a payload of that length.
    pub(crate) fn encode(&self, encoding: Encoding, message: &Message<'_>) -> Option<Vec<u8>> {
        let entry = self.entry(encoding);
        let def = &entry.def;
        if message.payload.len() > def.most_payload {
            return None;
        }
        let names = message.via.filter(|_| def.names_channel).map_or(0, |via| {
            let pattern = via.pattern.map_or(0, |pattern| pattern.as_bytes().len());
            via.channel.as_bytes().len() + pattern
        });
        let mut out = Vec::with_capacity(message.payload.len() + names + def.around);
        entry.append(message, &self.compression, &mut out);
        Some(out)
    }

    fn entry(&self, encoding: Encoding) -> &Entry {
        self.entries
            .get(encoding.index())
            .and_then(OnceLock::get)
            .expect("an encoding is a number of this table")
    }
}

/// The bit of encodings whose frames name the channel.
const NAMES_CHANNEL: u8 = 1 << 7;

/// The most encodings of one gateway: as many as the other bits can number.
const MOST: usize = 1 << NAMES_CHANNEL.trailing_zeros();

#[cfg(test)]
mod tests {
    use super::*;
    use millrace_core::Kind;

    #[test]
    fn a_registered_encoding_says_whether_it_names_the_channel() {
        let encodings = Encodings::new();
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

    #[test]
    fn a_word_has_one_encoding_and_their_number_is_limited() {
        let worded = WordedDef {
            def: lead::DEF,
            append: |word, _message, out| out.extend_from_slice(word.as_bytes()),
        };
        let encodings = Encodings::new();
        let news = encodings.worded(worded, "news").unwrap();
        assert_eq!(encodings.worded(worded, "news"), Some(news));
        let message = Message {
            kind: Kind::Text,
            payload: b"",
            via: None,
        };
        assert_eq!(encodings.encode(news, &message).unwrap(), b"news");
        let words = (0..1000).map(|number| number.to_string());
        let made = words.filter_map(|word| encodings.worded(worded, &word));
        assert_eq!(made.count(), MOST - 2);
        assert_eq!(encodings.worded(worded, "news"), Some(news));
        assert_eq!(encodings.worded(worded, "late"), None);
    }
}
