//! URLs of targets. Owns the parts that a connection and its handshake need, each in its normal form.

use std::fmt;

use super::host::Host;

/// The address of a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    secure: bool,
    host: Host,
    port: u16,
    path: String,
}

/// The text is not a WebSocket URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a WebSocket URL")]
pub struct InvalidUrl;

/// The longest URL that is parsed. Escaping can make its path three times as long.
pub const MAX_URL_BYTES: usize = 8 * 1024;

impl Target {
    /// Parses a `ws:` or `wss:` URL by the URL standard, without its leniency: it refuses what the standard would
    /// repair, such as missing slashes, line ends within the URL, or a host with percent signs. User information is
    /// discarded. As for every WebSocket, a fragment is refused.
    ///
    /// # Example
    ///
    /// ```
    /// use millrace_protocol::splice::Target;
    ///
    /// let target = Target::parse("ws://me:secret@EXAMPLE.com:80/a b?c")?;
    /// assert_eq!(target.to_string(), "ws://example.com/a%20b?c");
    /// assert_eq!(target.authority(), "example.com");
    /// assert!(Target::parse("http://example.com").is_err());
    /// # Ok::<(), millrace_protocol::splice::InvalidUrl>(())
    /// ```
    pub fn parse(url: &str) -> Result<Self, InvalidUrl> {
        let (scheme, rest) = clean(url)?.split_once("://").ok_or(InvalidUrl)?;
        let secure = match scheme {
            _ if scheme.eq_ignore_ascii_case("ws") => false,
            _ if scheme.eq_ignore_ascii_case("wss") => true,
            _ => return Err(InvalidUrl),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).ok_or(InvalidUrl)?;
        let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (host, port) = with_port(host, default_port(secure))?;
        Ok(Self {
            secure,
            host: Host::parse(host).map_err(|_| InvalidUrl)?,
            port,
            path: request_target(path)?,
        })
    }

    /// Whether the connection uses TLS.
    pub const fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The port, never 0.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The path and query for the request: visible ASCII that begins with a slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The `Host` of the handshake, without the port if it is the scheme's default.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if *port == default_port(self.secure) {
            return host.to_string();
        }
        format!("{host}:{port}")
    }
}

/// Writes the URL with the parts that are used.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "wss" } else { "ws" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

/// The path and query of a target within the gateway, whose URL is `millrace:/path?query`; `None` if the URL has
/// another scheme.
///
/// # Example
///
/// ```
/// use millrace_protocol::splice::{InvalidUrl, local_target};
///
/// assert_eq!(local_target("millrace:/chat?room=1"), Some(Ok("/chat?room=1".to_owned())));
/// assert_eq!(local_target("millrace://chat"), Some(Err(InvalidUrl)));
/// assert_eq!(local_target("ws://chat"), None);
/// ```
pub fn local_target(url: &str) -> Option<Result<String, InvalidUrl>> {
    let (scheme, path) = url.split_once(':')?;
    scheme.eq_ignore_ascii_case("millrace").then_some(())?;
    let is_path = path.starts_with('/') && !path.starts_with("//");
    let path = clean(path).ok().filter(|_| is_path);
    Some(path.ok_or(InvalidUrl).and_then(request_target))
}

const fn default_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

/// Checks that a URL has no control characters and no fragment, and no backslash before the query, because some parsers
/// treat it as a slash.
fn clean(url: &str) -> Result<&str, InvalidUrl> {
    let before_query = url.split('?').next().unwrap_or_default();
    let is_clean = url.len() <= MAX_URL_BYTES
        && !url.contains(|one: char| one.is_ascii_control() || one == '#')
        && !before_query.contains('\\');
    is_clean.then_some(url).ok_or(InvalidUrl)
}

/// Splits `host:port`. A colon without a port after it is ignored.
fn with_port(text: &str, default: u16) -> Result<(&str, u16), InvalidUrl> {
    // the colons of an IPv6 address precede its bracket
    let address = text.find(']').map_or(0, |bracket| bracket + 1);
    let behind = text.get(address..).unwrap_or_default();
    let Some(colon) = behind.find(':') else {
        return Ok((text, default));
    };
    let (host, port) = text.split_at_checked(address + colon).ok_or(InvalidUrl)?;
    let digits = port.trim_start_matches(':');
    if port.len() - digits.len() != 1 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(InvalidUrl);
    }
    if digits.is_empty() {
        return Ok((host, default));
    }
    let port = digits.parse().map_err(|_| InvalidUrl)?;
    if port == 0 {
        return Err(InvalidUrl);
    }
    Ok((host, port))
}

/// Returns the target of the request, with invalid characters percent-encoded.
fn request_target(text: &str) -> Result<String, InvalidUrl> {
    let mut out = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        out.push('/');
    }
    let mut in_query = false;
    for byte in text.bytes() {
        in_query |= byte == b'?';
        let encoded = match byte {
            b' ' | b'"' | b'<' | b'>' | 0x7f.. => true,
            b'^' | b'`' | b'{' | b'}' => !in_query,
            b'\'' => in_query,
            ..b' ' => return Err(InvalidUrl),
            _ => false,
        };
        if encoded {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(hex_digit));
        } else {
            out.push(char::from(byte));
        }
    }
    Ok(out)
}

fn hex_digit(four_bits: u8) -> char {
    let digit = char::from_digit(u32::from(four_bits), 16);
    digit.unwrap_or('0').to_ascii_uppercase()
}

#[cfg(test)]
mod tests;
