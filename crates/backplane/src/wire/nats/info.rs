//! What a NATS server reports about itself. Owns the parsing of its JSON.

use crate::config::Server;

/// The fields of `INFO` that matter here.
#[derive(Debug, Default)]
pub(crate) struct Info {
    /// Its version.
    pub(crate) version: Option<[u32; 3]>,
    /// The most bytes of a message.
    pub(crate) max_payload: Option<usize>,
    /// What we must sign if we authenticate by a key.
    pub(crate) nonce: Option<String>,
    /// The servers of its cluster to which clients may connect.
    pub(crate) connect_urls: Option<Vec<String>>,
}

impl Info {
    /// Reads a line, with or without its verb. A field that is not there, or is not as expected, is none. No text of
    /// these fields needs to be escaped.
    pub(crate) fn parse(line: &[u8]) -> Self {
        let line = str::from_utf8(line).unwrap_or_default();
        let behind = |name: &str| Some(line.split_once(name)?.1.trim_start());
        let digits = behind("\"max_payload\":").map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_digit());
            rest.split_at(end.unwrap_or(rest.len())).0
        });
        let list = behind("\"connect_urls\":").and_then(|rest| rest.strip_prefix('['));
        // an address of IPv6 has brackets, too
        let list = list.and_then(|rest| Some(rest.split_once("\"]")?.0));
        Self {
            version: behind("\"version\":").and_then(text).and_then(version),
            max_payload: digits.and_then(|digits| digits.parse().ok()),
            nonce: behind("\"nonce\":").and_then(text).map(str::to_owned),
            connect_urls: list.map(|list| {
                list.split(',')
                    .filter_map(text)
                    .map(str::to_owned)
                    .collect()
            }),
        }
    }
}

/// The text at the beginning, without its quotes.
fn text(json: &str) -> Option<&str> {
    let text = json.trim().strip_prefix('"')?;
    let text = text.split_once('"').map_or(text, |(text, _)| text);
    (!text.contains('\\')).then_some(text)
}

/// Reads `2.9.10`, or `2.11.0-dev`.
fn version(text: &str) -> Option<[u32; 3]> {
    let (text, _) = text.split_once('-').unwrap_or((text, ""));
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// Reads `host:port`.
pub(crate) fn server(url: &str) -> Option<Server> {
    let (host, port) = url.rsplit_once(':')?;
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let port = port.parse().ok().filter(|port| *port > 0)?;
    if host.is_empty() || host.len() > LONGEST_HOST {
        return None;
    }
    Some(Server {
        host: host.to_owned(),
        port,
    })
}

/// The most bytes of a host name.
const LONGEST_HOST: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        let read = |url| server(url).map(|server| (server.host, server.port));
        assert_eq!(read("10.0.0.1:4222"), Some(("10.0.0.1".to_owned(), 4222)));
        assert_eq!(read("[::1]:4222"), Some(("::1".to_owned(), 4222)));
        for wrong in ["", ":1", "a", "a:", "a:0", "a:70000", "a:b"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_first_line_has_its_verb() {
        let line = b"INFO {\"version\":\"2.11.0-dev\",\"max_payload\":7,\"nonce\":\"n\",\"connect_urls\":[\"a:1\", \"[::1]:2\"],\"other\":[{}]} \r\n";
        let info = Info::parse(line);
        assert_eq!(
            (info.max_payload, info.nonce.as_deref()),
            (Some(7), Some("n"))
        );
        assert_eq!(info.version, Some([2, 11, 0]));
        assert_eq!(
            info.connect_urls,
            Some(vec!["a:1".to_owned(), "[::1]:2".to_owned()])
        );
    }

    #[test]
    fn what_is_not_expected_says_nothing() {
        for json in [
            "",
            "{}",
            "[]",
            "{\"max_payload\":\"x\"}",
            "{\"nonce\":1}",
            "{\"version\":\"2.9\"}",
            "{\"version\":\"2.9.x\"}",
            "{\"nonce\":\"a\\\"b\"}",
            "{\"connect_urls\":",
            "{\"connect_urls\":[",
            "{\"connect_urls\":{}}",
            "{\"connect_urls\":[]}",
        ] {
            let info = Info::parse(json.as_bytes());
            assert_eq!(
                (info.max_payload, info.nonce, info.connect_urls),
                (None, None, None),
                "{json}"
            );
            assert_eq!(info.version, None, "{json}");
        }
        let other = Info::parse(b"{\"connect_urls\":[1,\"a:1\"]}");
        assert_eq!(other.connect_urls, Some(vec!["a:1".to_owned()]));
    }
}
