//! The limits of a decoder. Owns the defaults.

use super::header::MOST_CHANNELS;

/// The limits of a decoder, shared by many decoders. Input that exceeds them ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderConfig {
    /// The number of channels that our header announced, 1 to 4096. Other values are replaced by the nearest of these,
    /// as [`append_header`](super::append_header) does. Default 4096.
    pub channels: u16,
    /// The most bytes of a message's head, inclusive, over all its packets. Default 1 MiB.
    pub head_bytes: usize,
    /// The most files of a message, inclusive. Default 10,000.
    pub files: u32,
    /// The most bytes that messages in progress may hold on all channels together. Counted are: the bytes of each
    /// incomplete head, rounded up to a power of two, plus 160; 16 bytes for every file, plus 48 for a message that has
    /// files; and the contents of files that came before the rest of their head, which the receiver of the items has to
    /// keep. Default 4 MiB, enough for three heads of the largest size at once. A limit above 4 GiB - 1 counts as 4 GiB
    /// - 1.
    pub pending_bytes: usize,
    /// Whether the size of a file must equal its announced size. Default true.
    pub enforce_file_sizes: bool,
}

impl Default for DecoderConfig {
    fn default() -> Self {
        Self {
            channels: MOST_CHANNELS,
            head_bytes: 1 << 20,
            files: 10_000,
            pending_bytes: 4 << 20,
            enforce_file_sizes: true,
        }
    }
}

impl DecoderConfig {
    /// Whether the peer may use a channel.
    #[inline]
    pub(super) fn has_channel(&self, channel: u16) -> bool {
        channel < self.channels.clamp(1, MOST_CHANNELS)
    }
}
