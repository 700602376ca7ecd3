//! The first line of a request (RFC 9112 §3), parsed strictly.

use super::bytes::{
    host_chars, node_target_chars, path_chars, query_chars, split_once, token_chars,
};
use super::config::InspectorConfig;
use super::refusal::Refusal;

/// The known methods. Any other token is answered with 501.
pub const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
];

/// The methods that only `node:http` knows.
const METHODS_OF_NODE: [&[u8]; 26] = [
    b"ACL",
    b"BIND",
    b"CHECKOUT",
    b"COPY",
    b"LINK",
    b"LOCK",
    b"M-SEARCH",
    b"MERGE",
    b"MKACTIVITY",
    b"MKCALENDAR",
    b"MKCOL",
    b"MOVE",
    b"NOTIFY",
    b"PROPFIND",
    b"PROPPATCH",
    b"PURGE",
    b"QUERY",
    b"REBIND",
    b"REPORT",
    b"SEARCH",
    b"SOURCE",
    b"SUBSCRIBE",
    b"UNBIND",
    b"UNLINK",
    b"UNLOCK",
    b"UNSUBSCRIBE",
];

/// What the checks of the rest of the head need to know about the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// A method whose requests usually have a body. Without a length, such a body would end with the
    /// connection.
    Sends,
    Connect,
    Other,
}

/// A valid request line.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestLine {
    pub(super) method: Method,
    pub(super) http_1_0: bool,
    /// GET of a path in HTTP/1.1.
    pub(super) gets_path: bool,
}

/// Checks the beginning of a request line whose end has not come.
pub(super) fn unfinished(line: &[u8], target_bytes: usize) -> Result<(), Refusal> {
    let Some((method, rest)) = split_once(line, b' ') else {
        return check_method_chars(line);
    };
    check_method_chars(method)?;
    check_target_length(rest, target_bytes)
}

/// Whether the beginning of a request line leaves HTTP/1.0 as the only version.
pub(super) fn says_http_1_0(line: &[u8]) -> bool {
    let version = split_once(line, b' ').and_then(|(_, rest)| split_once(rest, b' '));
    version.is_some_and(|(_, version)| version.starts_with(b"HTTP/1.0"))
}

/// Checks a request line without its CRLF, and finds errors in the order in which [`unfinished`] would find
/// them.
pub(super) fn parse(line: &[u8], config: &InspectorConfig) -> Result<RequestLine, Refusal> {
    let (method, rest) = split_once(line, b' ').ok_or(Refusal::RequestLine)?;
    let (target, version) = split_once(rest, b' ').ok_or(Refusal::RequestLine)?;
    if method.is_empty() || target.is_empty() || version.contains(&b' ') {
        return Err(Refusal::RequestLine);
    }
    let &[b'H', b'T', b'T', b'P', b'/', major, b'.', minor] = version else {
        return Err(Refusal::VersionSyntax);
    };
    if !major.is_ascii_digit() || !minor.is_ascii_digit() {
        return Err(Refusal::VersionSyntax);
    }
    check_target_length(target, config.target_bytes)?;
    let kind = known(method, config)?;
    check_target(kind, target, line, config)?;
    let http_1_0 = match (major, minor) {
        (b'1', b'0') => true,
        (b'1', b'1') => false,
        _ => return Err(Refusal::VersionUnknown),
    };
    Ok(RequestLine {
        method: kind,
        http_1_0,
        gets_path: method == b"GET" && target.starts_with(b"/") && !http_1_0,
    })
}

/// Checks a method, and a path with its query, that were not sent as a line.
pub(super) fn check_apart(
    method: &[u8],
    path: &[u8],
    config: &InspectorConfig,
) -> Result<(), Refusal> {
    if path.len() > config.target_bytes {
        return Err(Refusal::TargetTooLong);
    }
    known(method, config)?;
    let good = match path {
        b"*" => method == b"OPTIONS",
        [b'/', ..] => is_path_and_query(path, config),
        _ => false,
    };
    if good { Ok(()) } else { Err(Refusal::Target) }
}

/// Checks the characters of a method, which may be incomplete.
pub(super) fn check_method_chars(method: &[u8]) -> Result<(), Refusal> {
    if token_chars(method) {
        Ok(())
    } else {
        Err(Refusal::MethodSyntax)
    }
}

/// Checks the length of the target, which ends before the next blank, the line end or the end of the bytes.
fn check_target_length(rest: &[u8], target_bytes: usize) -> Result<(), Refusal> {
    let shown = rest.get(..=target_bytes).unwrap_or_default();
    if shown.is_empty()
        || shown
            .iter()
            .any(|byte| matches!(byte, b' ' | b'\r' | b'\n'))
    {
        Ok(())
    } else {
        Err(Refusal::TargetTooLong)
    }
}

fn known(method: &[u8], config: &InspectorConfig) -> Result<Method, Refusal> {
    match method {
        b"GET" | b"HEAD" | b"DELETE" | b"OPTIONS" | b"TRACE" => Ok(Method::Other),
        b"POST" | b"PUT" | b"PATCH" => Ok(Method::Sends),
        b"CONNECT" => Ok(Method::Connect),
        _ if config.as_node && METHODS_OF_NODE.contains(&method) => Ok(Method::Other),
        _ => Err(Refusal::MethodUnknown),
    }
}

fn check_target(
    method: Method,
    target: &[u8],
    line: &[u8],
    config: &InspectorConfig,
) -> Result<(), Refusal> {
    let good = match (method, target) {
        (Method::Connect, _) => is_authority(target, true),
        (_, [b'/', ..]) => is_path_and_query(target, config),
        (Method::Other, b"*") => line.starts_with(b"OPTIONS "),
        _ => is_absolute(target, config),
    };
    if good { Ok(()) } else { Err(Refusal::Target) }
}

fn is_path_and_query(bytes: &[u8], config: &InspectorConfig) -> bool {
    if config.as_node {
        return node_target_chars(bytes);
    }
    let (path, query) = split_once(bytes, b'?').unwrap_or((bytes, b""));
    path_chars(path) && query_chars(query) && has_good_escapes(bytes)
}

/// `http://authority/path`, the form in requests to proxies (RFC 9112 §3.2.2).
fn is_absolute(target: &[u8], config: &InspectorConfig) -> bool {
    let Some((scheme, [b'/', b'/', rest @ ..])) = split_once(target, b':') else {
        return false;
    };
    if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
        return false;
    }
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    let (authority, path) = rest
        .split_at_checked(end.unwrap_or(rest.len()))
        .unwrap_or((rest, b""));
    is_authority(authority, false) && is_path_and_query(path, config)
}

/// Whether the bytes are a host, with a port if `with_port` (RFC 3986 §3.2 without user information).
pub(super) fn is_authority(bytes: &[u8], with_port: bool) -> bool {
    let (host_is_good, port) = if let [b'[', rest @ ..] = bytes {
        let Some((address, port)) = split_once(rest, b']') else {
            return false;
        };
        let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
        (address.iter().all(is_part), port)
    } else {
        let colon = memchr::memchr(b':', bytes).unwrap_or(bytes.len());
        let (host, port) = bytes.split_at_checked(colon).unwrap_or((bytes, b""));
        let is_open = host.iter().any(|byte| matches!(byte, b'[' | b']'));
        (host_chars(host) && !is_open, port)
    };
    let named = !matches!(bytes, [] | [b':', ..] | [b'[', b']', ..]);
    let port_is_good = match port {
        [] => !with_port,
        [b':', digits @ ..] => {
            digits.iter().all(u8::is_ascii_digit) && !(with_port && digits.is_empty())
        }
        _ => false,
    };
    named && host_is_good && port_is_good && has_good_escapes(bytes)
}

/// Whether every percent sign is followed by two hexadecimal digits.
fn has_good_escapes(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((_, after)) = split_once(rest, b'%') {
        let Some(([first, second], after)) = after.split_first_chunk::<2>() else {
            return false;
        };
        if !first.is_ascii_hexdigit() || !second.is_ascii_hexdigit() {
            return false;
        }
        rest = after;
    }
    true
}
