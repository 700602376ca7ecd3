//! Messages that a server compresses (RFC 7692), without context takeover. Subscribers of a channel get the same bytes, so
//! that a message is inflated once and recognised after that. It checks no contents.

use std::fmt;

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::failure::Failure;

/// Inflates messages of all connections.
pub(crate) struct Inflating {
    stream: Inflate,
    /// Messages that were inflated before; the next one takes the place after `newest`.
    known: Vec<Known>,
    newest: usize,
}

#[derive(Debug, Default)]
struct Known {
    compressed: Vec<u8>,
    text: Vec<u8>,
}

/// The number of messages that are recognised: several times as many as publications in flight.
const KNOWN: usize = 64;

/// The longest text of a message.
const MOST: usize = 256 * 1024;

/// The empty stored block that the sender of a message has removed from its end, and a last block, which shows that the
/// message did not end within another one.
const END: [u8; 6] = [0, 0, 0xff, 0xff, 3, 0];

impl Inflating {
    pub(crate) fn new() -> Self {
        Self {
            stream: Inflate::new(false, 15),
            known: Vec::new(),
            newest: 0,
        }
    }

    /// The text of a message.
    pub(crate) fn text(&mut self, compressed: &[u8]) -> Result<&[u8], Failure> {
        let is_it = |known: &Known| known.compressed == compressed;
        // connections with the same message follow each other
        let place = if self.known.get(self.newest).is_some_and(is_it) {
            self.newest
        } else if let Some(place) = self.known.iter().position(is_it) {
            place
        } else {
            self.inflate(compressed)?
        };
        self.newest = place;
        Ok(&self.known[place].text)
    }

    /// Inflates a new message in the place of the oldest one.
    fn inflate(&mut self, compressed: &[u8]) -> Result<usize, Failure> {
        let place = match self.known.len() {
            KNOWN => (self.newest + 1) % KNOWN,
            few => {
                self.known.push(Known::default());
                few
            }
        };
        let known = &mut self.known[place];
        known.compressed.clear();
        known.text.resize(MOST, 0);
        self.stream.reset(false);
        let mut written = 0;
        let mut status = Status::Ok;
        for part in [compressed, &END] {
            let (taken, before) = (self.stream.total_in(), self.stream.total_out());
            status = self
                .stream
                .decompress(part, &mut known.text[written..], InflateFlush::SyncFlush)
                .map_err(|error| violation(&format!("{error:?}")))?;
            let taken = usize::try_from(self.stream.total_in() - taken).unwrap_or(0);
            written += usize::try_from(self.stream.total_out() - before).unwrap_or(0);
            if taken < part.len() {
                return Err(violation("it is too long, or ends early"));
            }
        }
        if status != Status::StreamEnd {
            return Err(violation("it is cut"));
        }
        known.text.truncate(written);
        known.compressed.extend_from_slice(compressed);
        Ok(place)
    }
}

impl fmt::Debug for Inflating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflating")
            .field("known", &self.known.len())
            .finish_non_exhaustive()
    }
}

fn violation(what: &str) -> Failure {
    Failure::Violation(format!("a compressed message is wrong: {what}"))
}

#[cfg(test)]
mod tests {
    use zlib_rs::{Deflate, DeflateFlush};

    use super::*;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut stream = Deflate::new(6, false, 15);
        let mut out = vec![0; text.len() + 100];
        stream
            .compress(text, &mut out, DeflateFlush::SyncFlush)
            .unwrap();
        // without the empty block at its end
        out.truncate(usize::try_from(stream.total_out()).unwrap() - 4);
        out
    }

    #[test]
    fn messages_are_inflated_also_if_they_are_known() {
        let mut inflating = Inflating::new();
        let texts: Vec<Vec<u8>> = (0..200)
            .map(|n| format!("text {n} ").repeat(n).into())
            .collect();
        for _ in 0..2 {
            for text in &texts {
                for _ in 0..3 {
                    assert_eq!(inflating.text(&compressed(text)).unwrap(), text);
                }
            }
        }
    }

    #[test]
    fn bad_messages_are_violations() {
        let mut inflating = Inflating::new();
        let whole = compressed(&b"a text of some length ".repeat(20));
        for bad in [&whole[..whole.len() - 2], &b"\xff\xff\xff"[..]] {
            assert!(inflating.text(bad).is_err());
        }
        assert!(inflating.text(&compressed(&vec![b'a'; MOST + 1])).is_err());
        assert!(inflating.text(&whole).is_ok());
    }
}
