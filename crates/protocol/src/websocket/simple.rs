//! The heads that most frames have: of a frame without extensions, from a client, up to 64 KiB, which is a whole item and lies
//! wholly in the input. Judges nothing: everything else is for [`head::parse`](super::head::parse).

use super::config::{DecoderConfig, Role};
use super::head::Head;
use super::opcode::Opcode;

/// Finds such a head at the start of `bytes`, between two messages. `None` for every other one, errors included. All the
/// checks of a head cost a short message more than its bytes do.
#[expect(
    clippy::inline_always,
    reason = "a call costs small messages more than the checks that it saves"
)]
#[inline(always)]
pub(super) fn simple(bytes: &[u8], config: &DecoderConfig) -> Option<Head> {
    if config.role != Role::Server {
        return None;
    }
    let [first, second, rest @ ..] = bytes else {
        return None;
    };
    let (opcode, most) = match *first {
        0x81 => (Opcode::Text, config.message_bytes),
        0x82 => (Opcode::Binary, config.message_bytes),
        0x89 => (Opcode::Ping, 125),
        0x8a => (Opcode::Pong, 125),
        _ => return None,
    };
    let (payload, size, rest) = match second.wrapping_sub(MASKED) {
        short @ 0..=125 => (usize::from(short), 6, rest),
        126 => match rest.split_first_chunk::<2>()? {
            (length, rest) if u16::from_be_bytes(*length) >= 126 => {
                (usize::from(u16::from_be_bytes(*length)), 8, rest)
            }
            _ => return None,
        },
        _ => return None,
    };
    let (mask, behind) = rest.split_first_chunk::<4>()?;
    if payload > behind.len() || payload > most {
        return None;
    }
    Some(Head {
        opcode,
        fin: true,
        compressed: false,
        mask: Some(*mask),
        payload,
        size,
    })
}

/// The bit of masked frames in the second byte.
const MASKED: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::super::head::{self, Expect};
    use super::super::rsv1::Refused;
    use super::*;

    #[test]
    fn it_is_what_the_parser_finds() {
        let config = |message_bytes, role| DecoderConfig {
            message_bytes,
            role,
            ..DecoderConfig::default()
        };
        let configs = [
            config(1000, Role::Server),
            config(40, Role::Server),
            config(1000, Role::Client),
        ];
        let rest: Vec<u8> = [0, 126, 1, 2, 3, 4].into_iter().chain([9; 200]).collect();
        let mut found = 0;
        for begin in 0..=u16::MAX {
            for length in [0, 3, 4, 6, 40, 130, 132, 200] {
                let bytes = [&begin.to_be_bytes()[..], &rest[..length]].concat();
                for config in &configs {
                    let expect = Expect::message::<Refused>(config);
                    let head = head::parse(&bytes, &expect).ok().flatten();
                    let head = head.filter(|head| {
                        let is_whole = head.fin && head.payload <= bytes.len() - head.size;
                        is_whole && head.mask.is_some() && head.opcode != Opcode::Close
                    });
                    let simple = simple(&bytes, config);
                    found += usize::from(simple.is_some());
                    assert_eq!(simple, head, "{bytes:x?}");
                }
            }
        }
        assert!(found > 1000);
    }
}
