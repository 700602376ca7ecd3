//! The core's named bounds. Owns the numbers, never their enforcement.

/// Steps from a virtual socket to its real socket at which the chain counts as dangling: 99 virtual
/// sockets in a row resolve, the 100th does not. It bounds the walk along a chain.
pub const CHAIN_STEPS: u8 = 100;

/// Bytes of a user prefix, inclusive. A longer one is refused with
/// [`AnnotationError::PrefixTooLong`](crate::AnnotationError::PrefixTooLong).
pub const PREFIX_BYTES: usize = 15;

/// Virtual sockets remembered although their target was unknown when they were created. Over it the
/// oldest is forgotten, as if it had been deleted.
pub const DANGLING_IDS: usize = 65_536;

/// Highest reference count of one subscription; further references saturate.
pub const SUBSCRIPTION_COUNT: u16 = u16::MAX;

/// Bytes of a pattern, inclusive. A longer one is refused with
/// [`PatternError::TooLong`](crate::PatternError::TooLong).
pub const PATTERN_BYTES: usize = 1024;

/// Patterns with a subscriber. Over it a further one is refused with
/// [`PatternError::TooMany`](crate::PatternError::TooMany).
pub const PATTERNS: usize = 65_536;

/// Comparisons, beside 16 for each byte of the name, after which a pattern gives up and does not match. Names
/// of up to 256 bytes never take as many, whatever the pattern.
pub const PATTERN_STEPS: usize = 16_384;

/// Socket ids stay below this, so that a JavaScript number holds each exactly.
pub const SOCKET_ID_END: u64 = 1 << 53;
