//! Frames as this server has encoded them: without a mask. For those that make something else of them.

/// A frame without a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentFrame<'a> {
    /// All of its bytes.
    pub whole: &'a [u8],
    /// FIN, the reserved bits and the opcode (RFC 6455, section 5.2).
    pub first: u8,
    /// The payload.
    pub payload: &'a [u8],
}

/// The first frame, and what follows it; `None`: it is not complete.
pub fn split_sent(bytes: &[u8]) -> Option<(SentFrame<'_>, &[u8])> {
    let [first, second, behind @ ..] = bytes else {
        return None;
    };
    let (length, behind) = match second & 0x7f {
        126 => {
            let (length, behind) = behind.split_first_chunk::<2>()?;
            (u64::from(u16::from_be_bytes(*length)), behind)
        }
        127 => {
            let (length, behind) = behind.split_first_chunk::<8>()?;
            (u64::from_be_bytes(*length), behind)
        }
        short => (u64::from(short), behind),
    };
    let (payload, rest) = behind.split_at_checked(usize::try_from(length).ok()?)?;
    let frame = SentFrame {
        whole: bytes.get(..bytes.len() - rest.len())?,
        first: *first,
        payload,
    };
    Some((frame, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::websocket::{Opcode, append_frame};

    #[test]
    fn a_frame_is_read_as_it_was_encoded_and_only_whole() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let payload = vec![7; length];
            let mut bytes = Vec::new();
            append_frame(&mut bytes, Opcode::Binary, &payload);
            let end = bytes.len();
            assert_eq!(split_sent(&bytes[..end - 1]), None);
            bytes.extend_from_slice(b"next");
            let (frame, rest) = split_sent(&bytes).unwrap();
            assert_eq!(
                (frame.first, frame.payload, rest),
                (0x82, &payload[..], &b"next"[..])
            );
            assert_eq!(frame.whole, &bytes[..end]);
        }
        assert_eq!(split_sent(&[0x82]), None);
    }
}
