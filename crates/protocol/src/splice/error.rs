//! What the multiplexer tells its client went wrong, by the numbers and in the words of the original.

/// A problem that has a number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Problem {
    /// No JSON, or params that do not fit their method: 4000.
    Unparsable,
    /// A message without a whole index: 4001.
    TooShort,
    /// A message longer than the bound: 4002.
    TooLong,
    /// A method that there is not: 4003.
    UnknownMethod,
    /// A message to an index without target, or a call about one: 4004.
    NoSuchTarget,
    /// An invalid URL, or one of another scheme: 4005.
    InvalidUrl,
    /// The host is not allowed: 4006.
    HostNotAllowed,
    /// The target cannot be reached, or refused: 4007.
    DialFailed,
}

impl Problem {
    /// All of them, by their codes.
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

    /// Its number.
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

    /// Its text. Where more is known, such as why a target could not be reached, that is said in its place.
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

    /// Which of the params it is about.
    pub const fn path(self) -> Option<&'static str> {
        match self {
            Self::InvalidUrl | Self::HostNotAllowed | Self::DialFailed => Some("url"),
            _ => None,
        }
    }
}
