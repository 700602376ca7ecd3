//! What a decoder accepts. Owns the defaults.

use super::header::MOST_CHANNELS;

/// What a decoder accepts. Shared by many decoders. What exceeds it ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderConfig {
    /// Channels that our header announced, 1 to 4096; other values are held to be the nearest of these, as they are by
    /// [`append_header`](super::append_header). Default 4096.
    pub channels: u16,
    /// Bytes of a message's head, inclusive, in however many packets. Default 1 MiB.
    pub head_bytes: usize,
    /// Files of a message, inclusive. Default 10,000.
    pub files: u32,
    /// What messages in progress may hold on all channels together. Counted are the bytes of heads that are not complete, for
    /// each rounded up to a power of two, with 160 more; 16 bytes for every file, with 48 more for a message that has any;
    /// and what came of files in front of the rest of their head, which whoever gets the items has to keep. Default 4 MiB,
    /// enough for three heads of the largest size at once; a bound above 4 GiB - 1 is held to be that.
    pub pending_bytes: usize,
    /// Whether a file has to have the size that was announced. Default true.
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
    /// Whether the peer may choose a channel.
    #[inline]
    pub(super) fn has_channel(&self, channel: u16) -> bool {
        channel < self.channels.clamp(1, MOST_CHANNELS)
    }
}
