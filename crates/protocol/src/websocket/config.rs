//! The limits of a decoder, and the side of the connection that it is on.

/// The side of the connection that we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// We receive frames that must be masked (RFC 6455 §5.1).
    Server,
    /// We receive frames that must not be masked.
    Client,
}

/// The settings of a decoder, shared by many decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderConfig {
    /// The most bytes of a message, inclusive, fragmented or not. An empty fragment that is not the last
    /// counts 16 bytes. Default 16 MiB.
    pub message_bytes: usize,
    /// Our side. Default [`Role::Server`].
    pub role: Role,
    /// Whether text must be UTF-8 (RFC 6455 §8.1). Without this check, text is not reported as ASCII either.
    /// Default true.
    pub checks_text: bool,
    /// The sustained rate of pings and pongs per second; 0 switches the limit off. Default 100.
    pub control_per_second: u32,
    /// The most pings and pongs in a burst, at least 1. Default 1000.
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
