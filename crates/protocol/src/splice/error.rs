//! The problems that the multiplexer reports to its client, with the numbers and texts of wsplice.

/// A problem that has a number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Problem {
    /// The message is not JSON, or its params do not fit the method: 4000.
    Unparsable,
    /// A message is too short for an index: 4001.
    TooShort,
    /// A message exceeds the limit: 4002.
    TooLong,
    /// The method is unknown: 4003.
    UnknownMethod,
    /// A message to an index without a target, or a call about one: 4004.
    NoSuchTarget,
    /// A URL that is invalid or has another scheme: 4005.
    InvalidUrl,
    /// The host is not allowed: 4006.
    HostNotAllowed,
    /// The target cannot be reached, or it refused: 4007.
    DialFailed,
}

impl Problem {
    /// All problems, ordered by code.
    pub const ALL: [Self; 8] = [
        Self::Unparsable,
        Self::TooShort,
        Self::TooLong,
        Self::UnknownMethod,
        Self::NoSuchTarget,
        Self::InvalidUrl,
        Self::HostNotAllowed,
        Self::DialFailed,
    ];

    /// The number on the wire.
    pub const fn code(self) -> u16 {
        match self {
            Self::Unparsable => 4000,
            Self::TooShort => 4001,
            Self::TooLong => 4002,
            Self::UnknownMethod => 4003,
            Self::NoSuchTarget => 4004,
            Self::InvalidUrl => 4005,
            Self::HostNotAllowed => 4006,
            Self::DialFailed => 4007,
        }
    }

    /// The text on the wire. A more specific text, such as why a target could not be reached, replaces it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unparsable => "Error parsing payload as JSON",
            Self::TooShort => {
                "The provided frame was too short, it must start with a socket index, or 0"
            }
            Self::TooLong => "Maximum websocket frame length exceeded",
            Self::UnknownMethod => "Unknown method name",
            Self::NoSuchTarget => "You are trying to send to a connection which does not exist",
            Self::InvalidUrl => "Invalid URL provided",
            Self::HostNotAllowed => "You are not allowed to connect to that hostname",
            Self::DialFailed => "The target could not be reached",
        }
    }

    /// The param that the problem concerns.
    pub const fn path(self) -> Option<&'static str> {
        match self {
            Self::InvalidUrl | Self::HostNotAllowed | Self::DialFailed => Some("url"),
            _ => None,
        }
    }
}
