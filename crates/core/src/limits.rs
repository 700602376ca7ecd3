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

/// Socket ids stay below this, so that a JavaScript number holds each exactly.
pub const SOCKET_ID_END: u64 = 1 << 53;
