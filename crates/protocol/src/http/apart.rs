//! Requests whose parts come separately, as in HTTP/2. Applies those rules of [`Inspector`](super::Inspector) that
//! do not concern the end of a message, which the protocol itself marks.

use super::config::InspectorConfig;
use super::refusal::Refusal;
use super::request_line;

/// Checks a method, a path with its query, and the number of headers.
pub fn judge(
    method: &[u8],
    path: &[u8],
    headers: usize,
    config: &InspectorConfig,
) -> Result<(), Refusal> {
    request_line::check_apart(method, path, config)?;
    if headers > config.headers {
        return Err(Refusal::TooManyHeaders);
    }
    Ok(())
}

/// Whether this is a host with or without a port.
pub fn is_host(bytes: &[u8]) -> bool {
    request_line::is_authority(bytes, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_those_of_a_request_line() {
        let config = InspectorConfig {
            headers: 2,
            target_bytes: 8,
            ..InspectorConfig::default()
        };
        for (method, path, headers, outcome) in [
            ("GET", "/a?b", 2, Ok(())),
            ("CONNECT", "/chat", 0, Ok(())),
            ("OPTIONS", "*", 0, Ok(())),
            ("GET", "/", 3, Err(Refusal::TooManyHeaders)),
            ("GET", "/2345678", 0, Ok(())),
            ("GET", "/23456789", 0, Err(Refusal::TargetTooLong)),
            ("GET", "*", 0, Err(Refusal::Target)),
            ("GET", "", 0, Err(Refusal::Target)),
            ("GET", "a", 0, Err(Refusal::Target)),
            ("GET", "/%zz", 0, Err(Refusal::Target)),
            ("GET", "/\"", 0, Err(Refusal::Target)),
            ("GET", "/\u{e9}", 0, Err(Refusal::Target)),
            ("BREW", "/", 0, Err(Refusal::MethodUnknown)),
            ("get", "/", 0, Err(Refusal::MethodUnknown)),
        ] {
            let judged = judge(method.as_bytes(), path.as_bytes(), headers, &config);
            assert_eq!(judged, outcome, "{method} {path}");
        }
        assert!(is_host(b"a.example:80") && is_host(b"[::1]"));
        assert!(!is_host(b"a@b") && !is_host(b"") && !is_host(b"a b"));
    }
}
