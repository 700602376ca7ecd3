//! The channels that a plain stream asks for in its query. Pure.

use hyper::HeaderMap;
use millrace_protocol::sse;

/// The parameter that names a channel.
const PARAMETER: &str = "channel";

/// The most channels of a stream: each event has the positions of all.
const MOST: usize = 64;

/// Why a query is refused.
pub(super) const INVALID: &str =
    "channel has to name at most 64 different channels, in UTF-8 and without control characters";

/// Why channels are refused together.
pub(super) const UNCLEAR: &str = "on a stream of several channels the type of an event is its channel's name, \
     so none may be binary, close, error, gap, message or open, or begin with binary and a blank";

/// Whether the names of channels on one stream could be other types of events. With one channel they are no types.
pub(super) fn is_unclear(names: &[String]) -> bool {
    names.len() > 1 && names.iter().any(|name| sse::is_taken(name))
}

/// The channels of a query; empty if it names none. `None`: they are malformed.
pub(super) fn read(query: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for parameter in query.split('&') {
        let Some((PARAMETER, value)) = parameter.split_once('=') else {
            continue;
        };
        let name = decode(value)?;
        let is_valid = !name.is_empty() && !name.contains(char::is_control);
        if !is_valid || names.len() == MOST || names.contains(&name) {
            return None;
        }
        names.push(name);
    }
    Some(names)
}

/// What the client has seen of an earlier stream.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let last = headers.get("last-event-id")?;
    // what cannot be read is no position
    Some(last.to_str().unwrap_or("?"))
}

/// Undoes the encoding of forms.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_channels() {
        let names = |query| read(query).map(|names| names.join("|"));
        assert_eq!(names("").as_deref(), Some(""));
        assert_eq!(names("a=1&channels=x&channel").as_deref(), Some(""));
        let query = "channel=room%3a1&x&channel=caf%C3%A9+%2B";
        assert_eq!(names(query).as_deref(), Some("room:1|café +"));
        for wrong in [
            "channel=",
            "channel=%",
            "channel=%zz",
            "channel=%ff",
            "channel=a%0a",
        ] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
        assert_eq!(names("channel=a&channel=b&channel=a"), None);
        let many = |count| {
            (0..count)
                .map(|n| format!("channel={n}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(read(&many(64).join("&")).map(|names| names.len()), Some(64));
        assert_eq!(read(&many(65).join("&")), None);
    }

    #[test]
    fn only_streams_of_several_channels_name_them_in_types() {
        let names = |query: &str| read(query).unwrap();
        for alone in ["channel=close", "channel=binary%20a"] {
            assert!(!is_unclear(&names(alone)));
            assert!(is_unclear(&names(&format!("channel=a&{alone}"))));
        }
        assert!(!is_unclear(&names("channel=a&channel=closed")));
    }
}
