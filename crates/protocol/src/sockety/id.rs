//! Ids of messages and responses. Randomness is an argument.

use std::fmt;

/// 16 bytes that identify a message or a response, in the byte order of a UUID's text. A peer may use any value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id([u8; 16]);

impl Id {
    /// Wraps an id that a peer sent.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Makes an id from random bytes: a UUID of version 4, because sockety-js matches replies to no other form.
    pub const fn v4(random: [u8; 16]) -> Self {
        let bits = u128::from_be_bytes(random) & !(0xf << 76 | 0b11 << 62);
        Self((bits | 4 << 76 | 0b10 << 62).to_be_bytes())
    }

    /// The bytes in wire format.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Writes the id as a UUID in lower case.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_and_variant_are_set() {
        let text = |random| Id::v4(random).to_string();
        assert_eq!(text([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(text([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn a_peers_id_is_kept_unchanged() {
        let bytes = std::array::from_fn(|index| u8::try_from(index * 17).unwrap());
        let id = Id::new(bytes);
        assert_eq!(id.as_bytes(), &bytes);
        assert_eq!(id.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
