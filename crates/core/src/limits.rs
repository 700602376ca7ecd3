//! The core's named bounds. Owns the numbers, never their enforcement.

/// The number of steps from a virtual socket to its real socket at which the chain counts as dangling: 99
/// virtual sockets in a row resolve, the 100th does not. This bounds the walk along a chain.
pub const CHAIN_STEPS: u8 = 100;

/// Bytes of a user prefix, inclusive. A longer one is refused with
/// [`AnnotationError::PrefixTooLong`](crate::AnnotationError::PrefixTooLong).
pub const PREFIX_BYTES: usize = 15;

/// The number of virtual sockets with an unknown target that are kept. Above it the oldest is removed, as if
/// it had been deleted.
pub const DANGLING_IDS: usize = 65_536;

/// The highest reference count of one subscription. Further references do not raise it.
pub const SUBSCRIPTION_COUNT: u16 = u16::MAX;

/// Bytes of a pattern, inclusive. A longer one is refused with
/// [`PatternError::TooLong`](crate::PatternError::TooLong).
pub const PATTERN_BYTES: usize = 1024;

/// The number of patterns with a subscriber. A further pattern is refused with
/// [`PatternError::TooMany`](crate::PatternError::TooMany).
pub const PATTERNS: usize = 65_536;

/// The number of comparisons, in addition to 16 for each byte of the name, after which matching stops and the
/// pattern does not match. Names of up to 256 bytes never need that many, whatever the pattern.
pub const PATTERN_STEPS: usize = 16_384;

/// Socket ids are below this number, so that a JavaScript number holds each of them exactly.
pub const SOCKET_ID_END: u64 = 1 << 53;

/// Bytes of the key that names a publication, inclusive. Callers refuse longer ones; a longer key has no effect.
pub const KEY_BYTES: usize = 64;

/// Bytes of what a member of a channel says of itself, inclusive. A longer one is refused with
/// [`InfoError::TooLong`](crate::InfoError::TooLong).
pub const INFO_BYTES: usize = 4096;
