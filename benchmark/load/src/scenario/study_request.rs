//! The requests of the study and their replies: `"<connection>:<n>:<padding>"` and `{"sha":"<its
//! SHA-256>"}`. Pure: bytes from numbers.

use sha2::{Digest, Sha256};

/// Bytes of every right reply.
pub const REPLY: usize = OPENING.len() + 64 + CLOSING.len();

/// The smallest size of a request: the longest numbers with their colons and one byte of padding.
pub const SMALLEST: usize = 18;

/// The largest size of a request; a server closes with 1009 above it.
pub const LARGEST: usize = 1024;

/// Writes requests of one size.
#[derive(Debug, Clone)]
pub struct Requests {
    size: usize,
    padding: Vec<u8>,
}

impl Requests {
    /// Requests of `size` bytes, [`SMALLEST`] to [`LARGEST`].
    pub fn new(size: usize) -> Self {
        let padding = (b'a'..=b'z').cycle().take(size).collect();
        Self { size, padding }
    }

    /// Appends request `number` of a connection.
    #[inline]
    pub fn put(&self, connection: usize, number: u32, out: &mut Vec<u8>) {
        let from = out.len();
        put_decimal(u64::try_from(connection).unwrap_or(u64::MAX), out);
        out.push(b':');
        put_decimal(u64::from(number), out);
        out.push(b':');
        let written = out.len() - from;
        let room = self.size.saturating_sub(written);
        out.extend_from_slice(&self.padding[..room]);
    }
}

/// The only right reply to a request.
#[inline]
pub fn reply(request: &[u8]) -> [u8; REPLY] {
    let mut text = [0; REPLY];
    text[..OPENING.len()].copy_from_slice(OPENING);
    text[REPLY - CLOSING.len()..].copy_from_slice(CLOSING);
    let digits = text[OPENING.len()..].as_chunks_mut::<2>().0;
    for (pair, byte) in digits.iter_mut().zip(Sha256::digest(request)) {
        *pair = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
    }
    text
}

fn put_decimal(mut number: u64, out: &mut Vec<u8>) {
    let from = out.len();
    loop {
        out.push(b'0' + u8::try_from(number % 10).unwrap_or(0));
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[from..].reverse();
}

const OPENING: &[u8] = b"{\"sha\":\"";
const CLOSING: &[u8] = b"\"}";
const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_numbers_and_its_size() {
        let mut out = b"before".to_vec();
        Requests::new(32).put(17, 4_294_967_295, &mut out);
        assert_eq!(&out, b"before17:4294967295:abcdefghijklmnopqr");
        let mut out = Vec::new();
        Requests::new(SMALLEST).put(99_999, u32::MAX, &mut out);
        assert_eq!(out.len(), SMALLEST);
    }

    #[test]
    fn the_reply_is_the_one_of_the_specification() {
        let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        assert_eq!(
            reply(b"hello"),
            format!("{{\"sha\":\"{hello}\"}}").as_bytes()
        );
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(reply(b""), format!("{{\"sha\":\"{empty}\"}}").as_bytes());
    }
}
