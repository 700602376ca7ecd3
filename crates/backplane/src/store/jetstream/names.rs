//! The names of channels and their streams on a NATS server. Ensures that every channel has one subject, which JSON can
//! hold as it is, and that none is a subject of the plain link.

use millrace_core::{HistoryTerms, Pattern};
use ring::digest::{SHA256, digest};

use crate::config::{Config, KeptChannels};
use crate::encoding::hex;

/// The streams, in the order of the terms: the first whose pattern matches a channel is its stream.
#[derive(Debug)]
pub(super) struct Streams(Box<[Stream]>);

/// One stream: `prefix!h.hash.name` are its subjects, and `prefix!t.hash.name` those on which the server tells what it has
/// kept. The hash is that of prefix and pattern, so other bounds do not make it another stream.
#[derive(Debug)]
pub(super) struct Stream {
    pattern: Pattern,
    /// The pattern as it was given.
    text: Box<[u8]>,
    history: HistoryTerms,
    hash: Box<str>,
    prefix: Box<str>,
}

impl Streams {
    pub(super) fn new(config: &Config) -> Self {
        let stream = |kept: &KeptChannels| {
            let about = [config.prefix.as_bytes(), b"\0", &kept.pattern].concat();
            Some(Stream {
                pattern: Pattern::new(&kept.pattern).ok()?,
                text: kept.pattern.clone(),
                history: kept.terms,
                hash: hash(&about),
                prefix: config.prefix.as_str().into(),
            })
        };
        Self(config.histories.iter().filter_map(stream).collect())
    }

    /// The place of the stream to which a channel belongs; `None`: no history was announced for it, or its name is too long
    /// for a subject.
    pub(super) fn place(&self, channel: &[u8]) -> Option<usize> {
        let matches = |stream: &Stream| stream.pattern.matches(channel);
        let place = self.0.iter().position(matches)?;
        let subject = self.get(place)?.kept(channel);
        (subject.len() <= LONGEST_SUBJECT).then_some(place)
    }

    /// The stream with this place.
    pub(super) fn get(&self, place: usize) -> Option<&Stream> {
        self.0.get(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.0.iter()
    }
}

impl Stream {
    /// Its name on the server, which has no dot.
    pub(super) fn name(&self) -> String {
        format!("millrace-{}", self.hash)
    }

    /// What is kept of its channels.
    pub(super) fn history(&self) -> HistoryTerms {
        self.history
    }

    /// What an operator is told about it.
    pub(super) fn description(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        format!("Millrace: {} of {}", text, self.prefix)
    }

    /// The subject under which a channel's messages are kept.
    pub(super) fn kept(&self, channel: &[u8]) -> String {
        self.subject(KEPT, channel)
    }

    /// The subject on which what was kept of a channel is told.
    pub(super) fn told(&self, channel: &[u8]) -> String {
        self.subject(TOLD, channel)
    }

    /// The subjects of all its channels, and those on which they are told.
    pub(super) fn all(&self) -> [String; 2] {
        [KEPT, TOLD].map(|what| format!("{}!{what}.{}.>", self.prefix, self.hash))
    }

    fn subject(&self, what: char, channel: &[u8]) -> String {
        let mut subject = format!("{}!{what}.{}.", self.prefix, self.hash);
        encode(channel, &mut subject);
        subject
    }
}

/// A short form of something for a name.
pub(in crate::store) fn hash(about: &[u8]) -> Box<str> {
    let digest = digest(&SHA256, about);
    let hash = digest.as_ref().get(..HASH_BYTES).unwrap_or_default();
    hex(hash).into()
}

/// Appends a name as one token. Only letters, digits and some signs are kept, so that no other text has to be escaped.
pub(in crate::store) fn encode(name: &[u8], out: &mut String) {
    if name.is_empty() {
        // a token cannot be empty
        out.push('%');
    }
    for byte in name {
        if byte.is_ascii_alphanumeric() || KEPT_SIGNS.contains(byte) {
            out.push(char::from(*byte));
        } else {
            out.push('%');
            out.push_str(&hex(&[*byte]));
        }
    }
}

const KEPT: char = 'h';

const TOLD: char = 't';

const KEPT_SIGNS: &[u8] = b"-_:;,@~#/+=";

/// The bytes of a hash in a name.
const HASH_BYTES: usize = 8;

/// The most bytes of a subject. By default a server accepts lines of 4 KiB, with the subject for the answer.
pub(in crate::store) const LONGEST_SUBJECT: usize = 3800;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Bounds, Credentials, Protocol};

    fn streams(prefix: &str, patterns: &[&str]) -> Streams {
        let kept = |pattern: &&str| KeptChannels {
            pattern: pattern.as_bytes().into(),
            terms: HistoryTerms {
                messages: 1,
                age_ms: 1,
            },
        };
        Streams::new(&Config {
            protocol: Protocol::Nats,
            servers: vec![],
            prefix: prefix.to_owned(),
            sentinel: None,
            credentials: Credentials::default(),
            tls: None,
            bounds: Bounds::default(),
            histories: patterns.iter().map(kept).collect(),
        })
    }

    #[test]
    fn the_first_pattern_that_matches_names_the_stream() {
        let streams = streams("app", &["room:*", "*"]);
        assert_eq!(streams.place(b"room:1"), Some(0));
        assert_eq!(streams.place(b"other"), Some(1));
        assert_eq!(streams.place(&[b'x'; 3700]), Some(1));
        assert_eq!(streams.place(&[b'\xff'; 1300]), None);
        let [first, second] = [0, 1].map(|place| streams.get(place).unwrap().name());
        assert_ne!(first, second);
        assert!(first.len() == 25 && !first.contains('.'));
        assert_eq!(streams.iter().count(), 2);
    }

    #[test]
    fn a_channel_has_one_subject_of_plain_letters() {
        let streams = streams("app", &["*"]);
        let stream = streams.get(0).unwrap();
        let kept = stream.kept(b"room:1");
        assert!(kept.starts_with("app!h.") && kept.ends_with(".room:1"));
        let [all, told] = stream.all();
        assert_eq!(all.strip_suffix('>'), kept.strip_suffix("room:1"));
        assert_eq!(
            told.strip_suffix('>'),
            stream.told(b"room:1").strip_suffix("room:1")
        );
        for (name, token) in [
            (&b""[..], ".%"),
            (b"%", ".%25"),
            (b"a.b", ".a%2eb"),
            (b"* >\"\\", ".%2a%20%3e%22%5c"),
            (b"\xff", ".%ff"),
        ] {
            let subject = stream.kept(name);
            assert!(subject.ends_with(token), "{subject}");
        }
    }
}
