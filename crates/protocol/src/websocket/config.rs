//! What a decoder accepts, and which side of the connection it is on.

/// Which side of the connection we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Frames must be masked (RFC 6455 §5.1).
    Server,
    /// Frames must not be masked.
    Client,
}

/// What a decoder accepts. Shared by many decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderConfig {
    /// The most bytes of a message, inclusive, fragmented or not. An empty fragment that is not the last
    /// counts 16 bytes. Default 16 MiB.
    pub message_bytes: usize,
    /// Our side. Default [`Role::Server`].
    pub role: Role,
    /// Whether text has to be UTF-8 (RFC 6455 §8.1). Without it, nothing is said about ASCII either. Default true.
    pub checks_text: bool,
    /// Pings and pongs per second, sustained; 0 is off. Default 100.
    pub control_per_second: u32,
    /// Pings and pongs at once, at least 1. Default 1000.
    pub control_burst: u32,
}

impl Default for DecoderConfig {
    fn default() -> Self {
        Self {
            message_bytes: 16 << 20,
            role: Role::Server,
            checks_text: true,
            control_per_second: 100,
            control_burst: 1000,
        }
    }
}
