//! The hosts that clients may connect to. Compares hosts as written in URLs and resolves nothing.

use std::collections::HashSet;

use super::host::Host;

/// A list of hosts. An empty list allows every host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowlist {
    hosts: HashSet<Host>,
}

/// An invalid host. It may have a scheme, a port, an asterisk, or characters beyond ASCII.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no host: names and addresses without scheme and port are")]
pub struct InvalidEntry(pub String);

impl Allowlist {
    /// Parses hosts from values. Each value may contain any number of hosts, separated by white space or commas. An
    /// IPv6 address may be written without brackets.
    ///
    /// # Example
    ///
    /// ```
    /// use millrace_protocol::splice::{Allowlist, Target};
    ///
    /// let list = Allowlist::parse(["example.com, [::1]", "127.0.0.1"])?;
    /// assert!(list.allows(Target::parse("wss://EXAMPLE.com:8443/").unwrap().host()));
    /// assert!(!list.allows(Target::parse("wss://www.example.com/").unwrap().host()));
    /// # Ok::<(), millrace_protocol::splice::InvalidEntry>(())
    /// ```
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidEntry> {
        let words = values
            .into_iter()
            .flat_map(|value| value.split(|one: char| one == ',' || one.is_whitespace()))
            .filter(|word| !word.is_empty());
        let hosts = words.map(entry).collect::<Result<_, _>>()?;
        Ok(Self { hosts })
    }

    /// Whether a host may be connected to, because it is in the list or the list is empty.
    pub fn allows(&self, host: &Host) -> bool {
        self.is_empty() || self.lists(host)
    }

    /// Whether a host is in the list.
    pub fn lists(&self, host: &Host) -> bool {
        self.hosts.contains(host)
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }
}

fn entry(word: &str) -> Result<Host, InvalidEntry> {
    let address = word.parse().map(Host::V6);
    address
        .or_else(|_| Host::parse(word))
        .map_err(|_| InvalidEntry(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        Host::parse(text).unwrap()
    }

    #[test]
    fn values_are_split_at_white_space_and_commas() {
        let list = Allowlist::parse(["a b,c", " , ", "", "d\te\nf,,g "]).unwrap();
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            assert!(list.allows(&host(name)), "{name}");
        }
        assert!(!list.allows(&host("h")) && !list.is_empty());
        assert_eq!(list.hosts.len(), 7);
    }

    #[test]
    fn an_empty_list_allows_all_hosts_and_contains_none() {
        for values in [&[][..], &[""], &[" ,, ", "\t"]] {
            let list = Allowlist::parse(values.iter().copied()).unwrap();
            assert!(list.is_empty());
            assert!(list.allows(&host("example.com")) && !list.lists(&host("example.com")));
        }
    }

    #[test]
    fn names_and_addresses_are_compared_as_they_are_written() {
        let list = Allowlist::parse(["LocalHost", "10.1", "Example.com."]).unwrap();
        for (text, allowed) in [
            ("localhost", true),
            ("LOCALHOST.", true),
            ("127.0.0.1", false),
            ("[::1]", false),
            ("10.0.0.1", true),
            ("0xa.1", true),
            ("[::ffff:10.0.0.1]", false),
            ("example.com", true),
            ("example.com.", true),
            ("a.example.com", false),
            ("example.co", false),
        ] {
            assert_eq!(list.allows(&host(text)), allowed, "{text}");
        }
        for text in ["::1", "[::1]", "[0::1]", "0:0::1"] {
            let list = Allowlist::parse([text]).unwrap();
            assert!(list.lists(&host("[::1]")) && !list.lists(&host("localhost")));
        }
    }

    #[test]
    fn an_invalid_host_is_named_in_the_error() {
        for word in [
            "example.com:80",
            "ws://a",
            "*.example.com",
            "*",
            "[::1]:80",
            "b\u{fc}cher.example",
            "1.2.3.4.5",
            "a/b",
            "256.1.1.1",
            "[example.com]",
        ] {
            let error = Allowlist::parse(["good, ", word]).unwrap_err();
            assert_eq!(error, InvalidEntry(word.to_owned()));
        }
    }
}
