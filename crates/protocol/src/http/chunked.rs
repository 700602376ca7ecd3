//! A chunked body (RFC 9112 §7.1). The bytes between chunks are checked one by one, those of a chunk are
//! only counted.

use super::config::InspectorConfig;
use super::field;
use super::head::without_cr;
use super::refusal::Refusal;

/// The position in a chunked body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunked {
    place: Place,
    /// Bytes of all chunks so far.
    bytes: u64,
    /// Bytes of all extensions so far.
    extensions: usize,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Size {
        value: u64,
        digits: u8,
    },
    Extension {
        size: u64,
    },
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    /// The bytes of the complete lines so far, their number, and the bytes of the next line that were
    /// searched for a line end.
    Trailers {
        bytes: usize,
        count: usize,
        seen: usize,
    },
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self {
            place: FIRST,
            bytes: 0,
            extensions: 0,
        }
    }

    /// Follows the body. Returns how many bytes may be passed on and whether they end it. The bytes of an
    /// incomplete trailer must be given again.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        config: &InspectorConfig,
    ) -> (usize, Result<bool, Refusal>) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let (used, ended) = match self.place {
                Place::Trailers { bytes, count, seen } => {
                    self.trailers(rest, (bytes, count, seen), config)
                }
                Place::Data { left } => {
                    let here = u64::try_from(rest.len()).unwrap_or(u64::MAX).min(left);
                    self.place = if here == left {
                        Place::DataCr
                    } else {
                        Place::Data { left: left - here }
                    };
                    (usize::try_from(here).unwrap_or(rest.len()), Ok(false))
                }
                _ => match rest.first().map(|&byte| self.step(byte, config)) {
                    Some(Err(refusal)) => return (at, Err(refusal)),
                    _ => (1, Ok(false)),
                },
            };
            at += used;
            match ended {
                Ok(false) if used > 0 => {}
                _ => return (at, ended),
            }
        }
        (at, Ok(false))
    }

    /// Handles one byte between chunks.
    fn step(&mut self, byte: u8, config: &InspectorConfig) -> Result<(), Refusal> {
        self.place = match (self.place, byte) {
            (Place::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == LONGEST_SIZE {
                    return Err(Refusal::ChunkSize);
                }
                Place::Size {
                    value: value << 4 | u64::from(hex(byte)),
                    digits: digits + 1,
                }
            }
            (
                Place::Size {
                    value: size,
                    digits: 1..,
                }
                | Place::Extension { size },
                b'\r',
            ) => Place::SizeEnd { size },
            (
                Place::Size {
                    value: size,
                    digits: 1..,
                },
                b';',
            ) => Place::Extension { size },
            (Place::Extension { size }, b'\t' | 0x20..=0x7e) => {
                self.extensions += 1;
                if self.extensions > MOST_EXTENSION_BYTES {
                    return Err(Refusal::ChunkExtension);
                }
                Place::Extension { size }
            }
            (Place::Extension { .. }, _) => return Err(Refusal::ChunkExtension),
            (Place::SizeEnd { size: 0 }, b'\n') => Place::Trailers {
                bytes: 0,
                count: 0,
                seen: 0,
            },
            (Place::SizeEnd { size }, b'\n') => {
                self.bytes = self.bytes.saturating_add(size);
                if self.bytes > config.body_bytes {
                    return Err(Refusal::BodyTooBig);
                }
                Place::Data { left: size }
            }
            (Place::DataCr, b'\r') => Place::DataLf,
            (Place::DataLf, b'\n') => FIRST,
            (Place::Size { .. } | Place::SizeEnd { .. }, _) => return Err(Refusal::ChunkSize),
            _ => return Err(Refusal::ChunkEnd),
        };
        Ok(())
    }

    /// Handles complete lines after the last chunk. An empty line ends the body.
    fn trailers(
        &mut self,
        rest: &[u8],
        (mut bytes, mut count, mut seen): (usize, usize, usize),
        config: &InspectorConfig,
    ) -> (usize, Result<bool, Refusal>) {
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'\n', rest.get(at + seen..).unwrap_or_default()) {
            let line = rest.get(at..at + seen + found).unwrap_or_default();
            bytes += line.len() + 1;
            count += 1;
            match trailer(line, bytes, count, config) {
                Err(refusal) => return (at, Err(refusal)),
                Ok(true) => return (at + line.len() + 1, Ok(true)),
                Ok(false) => {}
            }
            at += line.len() + 1;
            seen = 0;
        }
        seen = rest.len() - at;
        if bytes + seen >= config.head_bytes {
            return (at, Err(Refusal::HeadTooBig));
        }
        self.place = Place::Trailers { bytes, count, seen };
        (at, Ok(false))
    }
}

/// Checks one line without its LF. `Ok(true)` is the last line.
fn trailer(
    line: &[u8],
    bytes: usize,
    count: usize,
    config: &InspectorConfig,
) -> Result<bool, Refusal> {
    if bytes > config.head_bytes {
        return Err(Refusal::HeadTooBig);
    }
    let line = without_cr(line)?;
    if line.is_empty() {
        return Ok(true);
    }
    if count > config.headers {
        return Err(Refusal::TooManyHeaders);
    }
    field::check_trailer(line).map(|()| false)
}

const FIRST: Place = Place::Size {
    value: 0,
    digits: 0,
};

/// The most digits of a chunk's size: as many as 64 bits have.
const LONGEST_SIZE: u8 = 16;

/// The most bytes of all chunk extensions in a body.
const MOST_EXTENSION_BYTES: usize = 8 * 1024;

/// The value of a hexadecimal digit.
fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
