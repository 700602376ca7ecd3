//! The four bits that give the type of a frame (RFC 6455 §5.2), and the two kinds of message.
//!
//! Never decides whether a frame is allowed at its position: `head` does that.

/// The kind of data that a message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Bytes.
    Binary,
}

/// The frame types of RFC 6455 §11.8. Every other value is reserved and refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// A further fragment of the message that [`Text`](Self::Text) or [`Binary`](Self::Binary) began.
    Continuation,
    /// A text message, or its first fragment.
    Text,
    /// A binary message, or its first fragment.
    Binary,
    /// The closing handshake (§5.5.1).
    Close,
    /// Must be answered by a pong with the same payload (§5.5.2).
    Ping,
    /// The answer to a ping, or an unsolicited heartbeat (§5.5.3).
    Pong,
}

impl Opcode {
    /// The opcode of these four bits, if it is not reserved.
    #[inline]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0x0 => Some(Self::Continuation),
            0x1 => Some(Self::Text),
            0x2 => Some(Self::Binary),
            0x8 => Some(Self::Close),
            0x9 => Some(Self::Ping),
            0xA => Some(Self::Pong),
            _ => None,
        }
    }

    /// The four bits on the wire.
    #[inline]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    /// Close, ping and pong: never fragmented, at most 125 bytes, allowed between fragments (§5.5).
    #[inline]
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

impl From<Kind> for Opcode {
    #[inline]
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text,
            Kind::Binary => Self::Binary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_is_restored_from_its_bits() {
        let known: Vec<u8> = (0..=255)
            .filter(|&bits| Opcode::from_bits(bits).is_some())
            .collect();
        assert_eq!(known, [0, 1, 2, 8, 9, 10]);
        for bits in known {
            let opcode = Opcode::from_bits(bits).unwrap();
            assert_eq!(opcode.bits(), bits);
            assert_eq!(opcode.is_control(), bits >= 8);
        }
    }
}
