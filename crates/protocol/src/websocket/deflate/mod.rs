//! permessage-deflate (RFC 7692): compressed messages.
//!
//! Owns the codecs and what both sides agree on. A [`Deflater`] and an [`Inflater`] keep nothing between two messages, so
//! that one of each serves all connections of a thread. A connection whose messages refer to earlier ones (context takeover)
//! keeps only a [`History`]: the plain text of its last messages, as long as the window.

mod deflater;
mod history;
mod inflater;
mod inflation;
mod negotiation;
mod window;

pub use super::handshake::Malformed;
pub use deflater::Deflater;
pub use history::History;
pub use inflater::{InflateError, Inflater};
pub use inflation::Inflation;
pub use negotiation::{ClientWindow, NAME, Offer, Terms, Wishes};
pub use window::WindowBits;

/// What the sender removes from the end of each message (RFC 7692 §7.2.1): an empty stored block without its first three
/// bits.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

#[cfg(test)]
mod tests;
