//! WebSocket frames for a client: sent masked, received unmasked. Strict about what a server may
//! send; never allocates while reading and never copies a payload.

use crate::failure::Failure;

/// Opcode of a text message.
pub const TEXT: u8 = 1;
/// Opcode of a binary message.
pub const BINARY: u8 = 2;
/// Opcode of a close frame.
pub const CLOSE: u8 = 8;
/// Opcode of a ping.
pub const PING: u8 = 9;
/// Opcode of a pong.
pub const PONG: u8 = 10;

/// One complete frame from the server.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Its opcode. A frame is never a fragment.
    pub opcode: u8,
    /// Its payload.
    pub payload: &'a [u8],
    /// Whether its payload is compressed (RFC 7692).
    pub compressed: bool,
}

/// Takes one frame from the front of `bytes`: the frame and its length on the wire, or `None` while
/// it is incomplete. A masked, fragmented or non-minimal frame is a violation, a compressed one, too, unless
/// `compression` was negotiated and it is a message.
#[inline]
pub fn take(bytes: &[u8], compression: bool) -> Result<Option<(Frame<'_>, usize)>, Failure> {
    let [first, second, ..] = *bytes else {
        return Ok(None);
    };
    let opcode = first & 0x0f;
    let compressed = first & 0x40 != 0;
    let misused = compressed && !(compression && matches!(opcode, TEXT | BINARY));
    if first & 0xb0 != 0x80 || misused || second & 0x80 != 0 {
        return Err(violation("fragmented, compressed or masked", first, second));
    }
    let (length, head) = match second {
        127 => {
            let Some(field) = bytes.get(2..10) else {
                return Ok(None);
            };
            let length = u64::from_be_bytes(field.try_into().expect("eight bytes were taken"));
            if length < 65536 {
                return Err(violation("non-minimal length", first, second));
            }
            (usize::try_from(length).unwrap_or(usize::MAX - 64), 10)
        }
        126 => {
            let Some(&[high, low]) = bytes.get(2..4) else {
                return Ok(None);
            };
            let length = u16::from_be_bytes([high, low]);
            if length < 126 {
                return Err(violation("non-minimal length", first, second));
            }
            (usize::from(length), 4)
        }
        short => (usize::from(short), 2),
    };
    let end = head + length;
    let Some(payload) = bytes.get(head..end) else {
        return Ok(None);
    };
    let frame = Frame {
        opcode,
        payload,
        compressed,
    };
    Ok(Some((frame, end)))
}

/// Appends one masked frame.
pub fn put_masked(opcode: u8, payload: &[u8], key: [u8; 4], out: &mut Vec<u8>) {
    out.push(0x80 | opcode);
    if let Ok(short @ 0..=125) = u8::try_from(payload.len()) {
        out.push(0x80 | short);
    } else if let Ok(medium) = u16::try_from(payload.len()) {
        out.push(0xfe);
        out.extend_from_slice(&medium.to_be_bytes());
    } else {
        out.push(0xff);
        let long = u64::try_from(payload.len()).unwrap_or(u64::MAX);
        out.extend_from_slice(&long.to_be_bytes());
    }
    out.extend_from_slice(&key);
    out.extend(payload.iter().zip(key.iter().cycle()).map(|(a, b)| a ^ b));
}

/// The code of a close frame's payload; 1005 when it has none.
pub fn close_code(payload: &[u8]) -> u16 {
    match *payload {
        [high, low, ..] => u16::from_be_bytes([high, low]),
        _ => 1005,
    }
}

/// A masked frame that is built once and sent many times with different numbers in it.
#[derive(Debug, Clone)]
pub struct Template {
    bytes: Vec<u8>,
    /// Where the payload starts.
    payload: usize,
    /// The position of [`Template::number`]'s digits in the payload.
    at: usize,
    key: [u8; 4],
}

/// Decimal digits of a [`Template`]'s number.
pub const DIGITS: usize = 10;

impl Template {
    /// Text: `payload` with [`DIGITS`] digits at `at` that [`Template::number`] overwrites.
    pub fn new(payload: &[u8], at: usize, key: [u8; 4]) -> Self {
        Self::of(TEXT, payload, at, key)
    }

    /// The same with another opcode.
    pub fn of(opcode: u8, payload: &[u8], at: usize, key: [u8; 4]) -> Self {
        let mut bytes = Vec::with_capacity(payload.len() + 14);
        put_masked(opcode, payload, key, &mut bytes);
        let payload = bytes.len() - payload.len();
        Self {
            bytes,
            payload,
            at,
            key,
        }
    }

    /// The frame with `number` in it.
    #[inline]
    pub fn number(&mut self, number: u32) -> &[u8] {
        self.put(self.at, DIGITS, number);
        &self.bytes
    }

    /// Overwrites this many digits of the payload, `after` bytes behind those of
    /// [`Template::number`].
    #[inline]
    pub fn second_number(&mut self, after: usize, digits: usize, number: u32) {
        self.put(self.at + DIGITS + after, digits, number);
    }

    #[inline]
    fn put(&mut self, at: usize, digits: usize, number: u32) {
        let place = self.payload + at;
        let digits = &mut self.bytes[place..place + digits];
        write_digits(number, digits);
        for (i, digit) in digits.iter_mut().enumerate() {
            *digit ^= self.key[(at + i) % 4];
        }
    }
}

/// Writes `number` in decimal, filled with zeros on the left.
pub fn write_digits(mut number: u32, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

/// Reads a decimal number without sign; `None` for anything else.
#[inline]
pub fn read_digits(digits: &[u8]) -> Option<u32> {
    let mut number = 0u32;
    for &digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u32::from(value))?;
    }
    Some(number)
}

fn violation(what: &str, first: u8, second: u8) -> Failure {
    Failure::Violation(format!("{what} frame: {first:#04x} {second:#04x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmasked(payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_masked(TEXT, payload, [0; 4], &mut out);
        let head = out.len() - payload.len();
        out[1] &= 0x7f;
        out.drain(head - 4..head);
        out
    }

    #[test]
    fn every_length_comes_back_at_every_cut() {
        for length in [0, 1, 125, 126, 127, 300, 65535, 65536] {
            let payload = vec![b'x'; length];
            let wire = unmasked(&payload);
            for cut in (0..wire.len()).filter(|cut| *cut < 20 || *cut + 3 > wire.len()) {
                assert!(take(&wire[..cut], false).unwrap().is_none());
            }
            let (frame, used) = take(&wire, false).unwrap().unwrap();
            assert_eq!((frame.payload, used), (&payload[..], wire.len()));
        }
    }

    #[test]
    fn what_a_server_may_not_send_is_refused() {
        for bytes in [
            [0x01, 0x00, 0, 0],
            [0xc1, 0x00, 0, 0],
            [0x81, 0x80, 0, 0],
            [0x81, 126, 0, 5],
        ] {
            assert!(take(&bytes, false).is_err());
        }
        let compressed = |opcode| [0xc0 | opcode, 0];
        assert!(take(&compressed(TEXT), true).unwrap().unwrap().0.compressed);
        assert!(take(&compressed(PING), true).is_err());
    }

    #[test]
    fn a_template_carries_its_number_masked() {
        let key = [0x11, 0x22, 0x33, 0x44];
        for at in 0..5 {
            let payload = [&b"abcdefgh"[..at], &[b'0'; DIGITS], b"tail"].concat();
            let mut template = Template::new(&payload, at, key);
            let frame = template.number(4_294_967_295);
            let plain: Vec<u8> = frame[6..]
                .iter()
                .zip(key.iter().cycle())
                .map(|(a, b)| a ^ b)
                .collect();
            assert_eq!(&plain[at..at + DIGITS], b"4294967295");
            assert_eq!(read_digits(&plain[at..at + DIGITS]), Some(u32::MAX));
            assert_eq!(&plain[at + DIGITS..], b"tail");
        }
    }

    #[test]
    fn a_second_number_is_put_behind_the_first() {
        let key = [0x11, 0x22, 0x33, 0x44];
        let payload = [&b"p"[..], &[b'0'; DIGITS], b"c00000."].concat();
        let mut template = Template::new(&payload, 1, key);
        template.second_number(1, 5, 4_711);
        let frame = template.number(7);
        let key = key.iter().cycle();
        let plain: Vec<u8> = frame[6..].iter().zip(key).map(|(a, b)| a ^ b).collect();
        assert_eq!(plain, b"p0000000007c04711.");
    }
}
