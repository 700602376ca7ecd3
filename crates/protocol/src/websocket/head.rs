//! The head of a frame (RFC 6455 §5.2): parsed, and checked against the frames before it.
//!
//! Never looks at a payload and reports an error as soon as possible: a wrong first byte is refused
//! before the second arrives, an excessive length before the masking key.

use super::config::{DecoderConfig, Role};
use super::error::DecodeError;
use super::mask::Key;
use super::opcode::Opcode;
use super::rsv1::{self, Rsv1};

/// The longest head: two bytes, a 64-bit length and a masking key.
pub(super) const LONGEST: usize = 14;

/// What an empty fragment counts towards `message_bytes`. Without this, a peer could send any number of
/// them. The last fragment counts nothing, because it ends the message.
const EMPTY_FRAGMENT: usize = 16;

/// Which frames may come next.
#[derive(Debug)]
pub(super) struct Expect {
    pub(super) role: Role,
    /// A fragmented message is unfinished.
    pub(super) in_message: bool,
    /// An extension defines RSV1 (RFC 7692).
    pub(super) compression: bool,
    /// How many bytes the message may still have.
    pub(super) room: usize,
}

impl Expect {
    /// The state between messages.
    #[inline]
    pub(super) fn message<R: Rsv1>(config: &DecoderConfig) -> Self {
        Self {
            role: config.role,
            in_message: false,
            compression: R::IS_ALLOWED,
            room: config.message_bytes,
        }
    }

    /// The state after fragments of a message of at most `most` bytes that count `charged` bytes so far.
    #[inline]
    pub(super) fn continuation<R: Rsv1>(
        config: &DecoderConfig,
        most: usize,
        charged: usize,
    ) -> Self {
        let room = most.saturating_sub(charged);
        Self {
            role: config.role,
            in_message: true,
            compression: R::IS_ALLOWED,
            room,
        }
    }
}

/// The valid head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) opcode: Opcode,
    pub(super) fin: bool,
    /// RSV1 on the first frame of a message: the message is compressed (RFC 7692 §6).
    pub(super) compressed: bool,
    pub(super) mask: Option<Key>,
    /// The payload's length.
    pub(super) payload: usize,
    /// The head's own length.
    pub(super) size: usize,
}

impl Head {
    /// How much the frame counts towards `message_bytes`.
    #[inline]
    pub(super) fn charge(&self) -> usize {
        charge(self.payload, self.fin)
    }
}

/// Parses the head at the start of `bytes`. `None` means that it is valid so far but more bytes are
/// needed.
#[expect(
    clippy::inline_always,
    reason = "a call costs small messages 5 % of all their instructions, and with three callers it is not inlined otherwise"
)]
#[inline(always)]
pub(super) fn parse(bytes: &[u8], expect: &Expect) -> Result<Option<Head>, DecodeError> {
    let [first, rest @ ..] = bytes else {
        return Ok(None);
    };
    let (opcode, fin, compressed) = first_byte(*first, expect)?;
    let [second, rest @ ..] = rest else {
        return Ok(None);
    };
    let short = second & 0x7f;
    match (second & 0x80 != 0, expect.role) {
        (false, Role::Server) => return Err(DecodeError::Unmasked),
        (true, Role::Client) => return Err(DecodeError::Masked),
        _ => {}
    }
    if opcode.is_control() && short > 125 {
        return Err(DecodeError::ControlTooLong(short));
    }
    let Some((length, rest)) = length(short, rest)? else {
        return Ok(None);
    };
    let payload = match usize::try_from(length) {
        Ok(payload) if opcode.is_control() || charge(payload, fin) <= expect.room => payload,
        Ok(payload) if compressed && payload <= rsv1::most_compressed(expect.room) => payload,
        _ => return Err(DecodeError::MessageTooBig(length)),
    };
    let (mask, rest) = match expect.role {
        Role::Client => (None, rest),
        Role::Server => match rest.split_first_chunk::<4>() {
            Some((key, rest)) => (Some(*key), rest),
            None => return Ok(None),
        },
    };
    Ok(Some(Head {
        opcode,
        fin,
        compressed,
        mask,
        payload,
        size: bytes.len() - rest.len(),
    }))
}

#[inline]
fn charge(payload: usize, fin: bool) -> usize {
    if payload == 0 && !fin {
        EMPTY_FRAGMENT
    } else {
        payload
    }
}

/// Parses FIN, RSV1–3 and the opcode. Returns the opcode, FIN and RSV1 if they are allowed here.
#[inline]
fn first_byte(byte: u8, expect: &Expect) -> Result<(Opcode, bool, bool), DecodeError> {
    let fin = byte & 0x80 != 0;
    let rsv1 = byte & 0x40 != 0;
    let Some(opcode) = Opcode::from_bits(byte & 0x0f) else {
        return Err(DecodeError::ReservedOpcode(byte & 0x0f));
    };
    let begins = matches!(opcode, Opcode::Text | Opcode::Binary);
    if byte & 0x30 != 0 || (rsv1 && !(expect.compression && begins)) {
        return Err(DecodeError::ReservedBits(byte));
    }
    if opcode.is_control() {
        if !fin {
            return Err(DecodeError::FragmentedControl);
        }
    } else if begins && expect.in_message {
        return Err(DecodeError::InterruptedMessage);
    } else if !begins && !expect.in_message {
        return Err(DecodeError::StrayContinuation);
    }
    // known to be false without an extension, so that nothing looks at it
    Ok((opcode, fin, expect.compression && rsv1))
}

/// Parses the length after its 7-bit code. Returns it with the bytes after it.
#[inline]
fn length(short: u8, rest: &[u8]) -> Result<Option<(u64, &[u8])>, DecodeError> {
    let (length, least, rest) = match short {
        126 => {
            let Some((bytes, rest)) = rest.split_first_chunk::<2>() else {
                return Ok(None);
            };
            (u64::from(u16::from_be_bytes(*bytes)), 126, rest)
        }
        127 => {
            let Some((bytes, rest)) = rest.split_first_chunk::<8>() else {
                return Ok(None);
            };
            (u64::from_be_bytes(*bytes), 0x1_0000, rest)
        }
        _ => (u64::from(short), 0, rest),
    };
    if length < least {
        return Err(DecodeError::LengthNotMinimal(length));
    }
    if length >> 63 != 0 {
        return Err(DecodeError::LengthOverflow(length));
    }
    Ok(Some((length, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(room: usize) -> Expect {
        Expect {
            role: Role::Server,
            in_message: false,
            compression: false,
            room,
        }
    }

    /// The result for `bytes`, and how many of them were needed for it.
    fn verdict(bytes: &[u8], expect: &Expect) -> (Result<Option<Head>, DecodeError>, usize) {
        for end in 0..=bytes.len() {
            let verdict = parse(&bytes[..end], expect);
            if !matches!(verdict, Ok(None)) {
                return (verdict, end);
            }
        }
        (Ok(None), bytes.len())
    }

    #[test]
    fn refuses_with_the_first_byte_that_is_wrong() {
        let key = [0; 4];
        let long = |length: u64| [&[0x82, 0xff][..], &length.to_be_bytes(), &key].concat();
        let medium = |length: u16| [&[0x82, 0xfe][..], &length.to_be_bytes(), &key].concat();
        let cases: [(Vec<u8>, DecodeError, usize); 17] = [
            (vec![0x81, 0x05], DecodeError::Unmasked, 2),
            (vec![0xc1, 0x85], DecodeError::ReservedBits(0xc1), 1),
            (vec![0xa1, 0x85], DecodeError::ReservedBits(0xa1), 1),
            (vec![0x92, 0x85], DecodeError::ReservedBits(0x92), 1),
            (vec![0xc9, 0x85], DecodeError::ReservedBits(0xc9), 1),
            (vec![0x83], DecodeError::ReservedOpcode(3), 1),
            (vec![0x87], DecodeError::ReservedOpcode(7), 1),
            (vec![0x8b], DecodeError::ReservedOpcode(11), 1),
            (vec![0x8f], DecodeError::ReservedOpcode(15), 1),
            (vec![0x09], DecodeError::FragmentedControl, 1),
            (vec![0x88, 0xfe], DecodeError::ControlTooLong(126), 2),
            (vec![0x8a, 0xff], DecodeError::ControlTooLong(127), 2),
            (medium(125), DecodeError::LengthNotMinimal(125), 4),
            (long(65_535), DecodeError::LengthNotMinimal(65_535), 10),
            (long(1 << 63), DecodeError::LengthOverflow(1 << 63), 10),
            (medium(1001), DecodeError::MessageTooBig(1001), 4),
            (vec![0x80], DecodeError::StrayContinuation, 1),
        ];
        for (bytes, error, at) in cases {
            let (found, needed) = verdict(&bytes, &server(1000));
            assert_eq!((found.unwrap_err(), needed), (error, at), "{bytes:x?}");
        }
        let in_message = Expect {
            in_message: true,
            ..server(1000)
        };
        assert_eq!(
            verdict(&[0x81], &in_message).0.unwrap_err(),
            DecodeError::InterruptedMessage
        );
        let client = Expect {
            role: Role::Client,
            ..server(1000)
        };
        assert_eq!(
            verdict(&[0x81, 0x80], &client).0.unwrap_err(),
            DecodeError::Masked
        );
    }

    #[test]
    fn reads_every_length_form() {
        let room = usize::MAX;
        for (bytes, payload, size) in [
            (vec![0x82, 0x80, 1, 2, 3, 4], 0, 6),
            (vec![0x82, 0xfd, 1, 2, 3, 4], 125, 6),
            (vec![0x82, 0xfe, 0, 126, 1, 2, 3, 4], 126, 8),
            (vec![0x82, 0xfe, 255, 255, 1, 2, 3, 4], 65_535, 8),
            (
                vec![0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4],
                65_536,
                14,
            ),
        ] {
            let (found, needed) = verdict(&bytes, &server(room));
            let head = found.unwrap().unwrap();
            assert_eq!(
                (head.payload, head.size, needed),
                (payload, size, bytes.len())
            );
            assert_eq!(head.mask, Some([1, 2, 3, 4]));
        }
    }

    #[test]
    fn the_bound_is_inclusive_and_empty_fragments_count() {
        let masked = |first: u8, length: u8| [first, 0x80 | length, 0, 0, 0, 0];
        assert!(parse(&masked(0x82, 16), &server(16)).is_ok());
        assert!(parse(&masked(0x82, 17), &server(16)).is_err());
        assert!(parse(&masked(0x02, 0), &server(16)).is_ok());
        assert!(parse(&masked(0x02, 0), &server(15)).is_err());
        assert!(
            parse(&masked(0x82, 0), &server(0)).is_ok(),
            "the last fragment counts nothing"
        );
        assert!(
            parse(&masked(0x89, 125), &server(0)).is_ok(),
            "control frames are not part of the message"
        );
    }

    #[test]
    fn a_negotiated_extension_gives_rsv1_a_meaning_on_first_frames_only() {
        let expect = |in_message| Expect {
            compression: true,
            in_message,
            ..server(10)
        };
        assert!(
            parse(&[0xc1, 0x80, 0, 0, 0, 0], &expect(false))
                .unwrap()
                .unwrap()
                .compressed
        );
        assert!(
            !parse(&[0x81, 0x80, 0, 0, 0, 0], &expect(false))
                .unwrap()
                .unwrap()
                .compressed
        );
        assert_eq!(
            parse(&[0xc0], &expect(true)).unwrap_err(),
            DecodeError::ReservedBits(0xc0)
        );
        assert_eq!(
            parse(&[0xc9], &expect(true)).unwrap_err(),
            DecodeError::ReservedBits(0xc9)
        );
    }
}
