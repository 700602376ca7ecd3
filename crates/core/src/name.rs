//! Names. Owns the name spaces and the shared form of a name; never interprets a pattern.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter;
use std::sync::Arc;

/// The name spaces. The same bytes in two spaces are two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Channels.
    Channel,
    /// Sharded channels, as Redis has them: patterns do not match them.
    Sharded,
    /// Patterns.
    Pattern,
}

/// What a subscription is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic<'a> {
    /// The channel of this name.
    Channel(&'a [u8]),
    /// The sharded channel of this name.
    Sharded(&'a [u8]),
    /// Every channel that this [pattern](crate::Pattern) matches.
    Pattern(&'a [u8]),
}

/// A name, shared by the entry of the channel or pattern and by its subscribers.
///
/// Equality and hash cover the bytes only, not the space: each map holds the names of one space.
#[derive(Clone)]
pub struct Name(
    /// One byte for the space, then the name.
    Arc<[u8]>,
);

impl Topic<'_> {
    /// The name space it is in.
    pub const fn space(self) -> Space {
        match self {
            Self::Channel(_) => Space::Channel,
            Self::Sharded(_) => Space::Sharded,
            Self::Pattern(_) => Space::Pattern,
        }
    }
}

impl<'a> Topic<'a> {
    /// The channel's name, or the pattern's text.
    pub const fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::Channel(name) | Self::Sharded(name) | Self::Pattern(name) => name,
        }
    }
}

impl Name {
    /// Makes a name that shares memory with no other.
    pub fn new(space: Space, name: &[u8]) -> Self {
        Self(
            iter::once(space.tag())
                .chain(name.iter().copied())
                .collect(),
        )
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.get(1..).unwrap_or_default()
    }

    /// The space it is in.
    pub fn space(&self) -> Space {
        match self.0.first() {
            Some(&SHARDED) => Space::Sharded,
            Some(&PATTERN) => Space::Pattern,
            _ => Space::Channel,
        }
    }

    /// The name with its space.
    pub fn topic(&self) -> Topic<'_> {
        let name = self.as_bytes();
        match self.space() {
            Space::Channel => Topic::Channel(name),
            Space::Sharded => Topic::Sharded(name),
            Space::Pattern => Topic::Pattern(name),
        }
    }

    /// True if both names come from the same entry. This is cheaper than comparing the bytes.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that differs from that of every other entry that lives at the same time.
    pub fn address(&self) -> u64 {
        u64::try_from(Arc::as_ptr(&self.0).addr()).unwrap_or_default()
    }
}

impl Space {
    const fn tag(self) -> u8 {
        match self {
            Self::Channel => CHANNEL,
            Self::Sharded => SHARDED,
            Self::Pattern => PATTERN,
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Name")
            .field(&self.space())
            .field(&self.as_bytes().escape_ascii().to_string())
            .finish()
    }
}

const CHANNEL: u8 = 0;
const SHARDED: u8 = 1;
const PATTERN: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_knows_its_space_and_hashes_as_its_bytes() {
        let hasher = ahash::RandomState::with_seeds(1, 2, 3, 4);
        for space in [Space::Channel, Space::Sharded, Space::Pattern] {
            for bytes in [&b""[..], b"a", b"\x01\xff"] {
                let name = Name::new(space, bytes);
                assert_eq!((name.space(), name.as_bytes()), (space, bytes));
                assert_eq!(
                    (name.topic().space(), name.topic().as_bytes()),
                    (space, bytes)
                );
                assert_eq!(hasher.hash_one(&name), hasher.hash_one(bytes));
                assert!(name.is(&name.clone()) && !name.is(&Name::new(space, bytes)));
            }
        }
    }
}
