//! The headers and subprotocols that a client wants in the handshake with its target. Each is checked, so that none can
//! end a line, impersonate the multiplexer, or change how the handshake is parsed.

/// Additional headers of a handshake.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenHeaders {
    all: Vec<(String, String)>,
    bytes: usize,
}

/// The subprotocols to offer, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subprotocols {
    all: Vec<String>,
    bytes: usize,
}

/// Why a header or a subprotocol is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GivenError {
    /// Too many headers, or headers that are too long.
    #[error("headers must be at most {MOST_HEADERS}, with {MOST_BYTES} bytes")]
    TooManyHeaders,
    /// A name is not a token (RFC 9110 §5.6.2).
    #[error("headers must have tokens as names")]
    HeaderName,
    /// A name is reserved for the handshake itself.
    #[error("headers must not set what belongs to the handshake")]
    Reserved,
    /// A value has a control character.
    #[error("headers must not have control characters")]
    HeaderValue,
    /// Too many subprotocols, or subprotocols that are too long.
    #[error("subprotocols must be at most {MOST_SUBPROTOCOLS}, with {MOST_BYTES} bytes")]
    TooManySubprotocols,
    /// A subprotocol is not a token.
    #[error("subprotocols must be tokens")]
    Subprotocol,
    /// A subprotocol was given twice.
    #[error("subprotocols must not be given twice")]
    Repeated,
}

const MOST_HEADERS: usize = 64;
const MOST_SUBPROTOCOLS: usize = 64;
/// The most bytes of all headers, and of all subprotocols.
const MOST_BYTES: usize = 16 * 1024;
/// The same limit for their form in JSON, where escapes make a text up to six times as long.
pub(super) const MOST_WRITTEN_BYTES: usize = 6 * MOST_BYTES;

impl GivenHeaders {
    /// Sets a header and replaces one with the same name.
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

    /// The names and values in order. A value has no surrounding blanks and no control characters except tabs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.all.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of a header. The case of its name is ignored.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl Subprotocols {
    /// Adds a subprotocol.
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

    /// The subprotocols in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.all.iter().map(String::as_str)
    }

    /// Whether the list contains a subprotocol. A target may choose no other.
    pub fn contains(&self, name: &str) -> bool {
        self.all.iter().any(|other| other == name)
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// Whether a header is reserved: it belongs to the handshake, to a single hop, or to the length of a body.
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

/// Whether a byte may be part of a token (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_field_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
