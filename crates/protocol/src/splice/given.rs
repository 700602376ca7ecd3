//! The headers and subprotocols that a client gives for the handshake with its target: checked one by one, so that none can
//! end a line, speak for the multiplexer, or change how the handshake is read.

/// Headers that a handshake may have beside its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenHeaders {
    all: Vec<(String, String)>,
    bytes: usize,
}

/// Subprotocols to choose from, none twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subprotocols {
    all: Vec<String>,
    bytes: usize,
}

/// Why a header or a subprotocol is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GivenError {
    /// Too many headers, or too long ones.
    #[error("headers must be at most {MOST_HEADERS}, with {MOST_BYTES} bytes")]
    TooManyHeaders,
    /// A name that is no token (RFC 9110 §5.6.2).
    #[error("headers must have tokens as names")]
    HeaderName,
    /// A name that only the handshake itself may have.
    #[error("headers must not set what belongs to the handshake")]
    Reserved,
    /// A value with a control character.
    #[error("headers must not have control characters")]
    HeaderValue,
    /// Too many subprotocols, or too long ones.
    #[error("subprotocols must be at most {MOST_SUBPROTOCOLS}, with {MOST_BYTES} bytes")]
    TooManySubprotocols,
    /// A subprotocol that is no token.
    #[error("subprotocols must be tokens")]
    Subprotocol,
    /// A subprotocol that was given before.
    #[error("subprotocols must not be given twice")]
    Repeated,
}

const MOST_HEADERS: usize = 64;
const MOST_SUBPROTOCOLS: usize = 64;
/// Of all headers, and of all subprotocols.
const MOST_BYTES: usize = 16 * 1024;
/// The same as it is written in JSON, where escapes have up to six times as many.
pub(super) const MOST_WRITTEN_BYTES: usize = 6 * MOST_BYTES;

impl GivenHeaders {
    /// Sets a header, in the place of one with the same name.
    ///
    /// # Example
    ///
    /// ```
    /// use millrace_protocol::splice::{GivenError, GivenHeaders};
    ///
    /// let mut headers = GivenHeaders::default();
    /// headers.set("Origin", "https://example.com")?;
    /// assert_eq!(headers.set("host", "example.com"), Err(GivenError::Reserved));
    /// assert_eq!(headers.set("a", "b\r\nc: d"), Err(GivenError::HeaderValue));
    /// # Ok::<(), GivenError>(())
    /// ```
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), GivenError> {
        let value = value.trim_matches([' ', '\t']);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(GivenError::HeaderName);
        }
        if is_reserved(name) {
            return Err(GivenError::Reserved);
        }
        if !value.bytes().all(is_field_value) {
            return Err(GivenError::HeaderValue);
        }
        let before = self
            .all
            .iter()
            .position(|(other, _)| other.eq_ignore_ascii_case(name));
        let replaced = before.and_then(|at| self.all.get(at));
        let freed = replaced.map_or(0, |(name, value)| name.len() + value.len());
        let bytes = self
            .bytes
            .saturating_sub(freed)
            .saturating_add(name.len())
            .saturating_add(value.len());
        let count = self.all.len() - usize::from(before.is_some());
        if count >= MOST_HEADERS || bytes > MOST_BYTES {
            return Err(GivenError::TooManyHeaders);
        }
        if let Some(at) = before {
            self.all.remove(at);
        }
        self.bytes = bytes;
        self.all.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Names and values, in order. A value has neither blanks around it nor control characters but tabs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.all.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of a header, whatever the case of its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl Subprotocols {
    /// Adds one.
    pub fn add(&mut self, name: &str) -> Result<(), GivenError> {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(GivenError::Subprotocol);
        }
        if self.contains(name) {
            return Err(GivenError::Repeated);
        }
        let bytes = self.bytes.saturating_add(name.len());
        if self.all.len() >= MOST_SUBPROTOCOLS || bytes > MOST_BYTES {
            return Err(GivenError::TooManySubprotocols);
        }
        self.bytes = bytes;
        self.all.push(name.to_owned());
        Ok(())
    }

    /// All, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.all.iter().map(String::as_str)
    }

    /// Whether this is one of them. A target may choose no other.
    pub fn contains(&self, name: &str) -> bool {
        self.all.iter().any(|other| other == name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// What belongs to the handshake, to one hop, or to the length of a body that there is not.
fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(
        &*name,
        "host"
            | "connection"
            | "upgrade"
            | "content-length"
            | "transfer-encoding"
            | "keep-alive"
            | "te"
            | "trailer"
            | "expect"
            | "http2-settings"
    ) || name.starts_with("proxy-")
        || name.starts_with("sec-websocket-")
}

/// A character of a token (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_field_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
