//! The question to a Sentinel, and its answer. Owns their format; the connection is elsewhere.

use super::command::command;
use super::reply::{self, Parsed, Value};
use super::{WireError, shown};
use crate::config::Sentinel;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MasterQuery {
    /// How many replies come before the answer.
    before: usize,
}

/// What a Sentinel has answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Master {
    /// The answer is not complete.
    Unread,
    /// It knows no master of this name.
    Unknown,
    /// The master's host and port.
    At(String, u16),
}

impl MasterQuery {
    /// The bytes of the question.
    pub(crate) fn request(&mut self, sentinel: &Sentinel) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(password) = &sentinel.password {
            match &sentinel.user {
                Some(user) => command(&mut out, &[b"AUTH", user.as_bytes(), password.as_bytes()]),
                None => command(&mut out, &[b"AUTH", password.as_bytes()]),
            }
            self.before = 1;
        }
        let name = sentinel.master.as_bytes();
        command(&mut out, &[b"SENTINEL", b"get-master-addr-by-name", name]);
        out
    }

    /// Reads everything that was received so far.
    pub(crate) fn read(&self, input: &[u8]) -> Result<Master, WireError> {
        let mut rest = input;
        for is_last in (0..=self.before).map(|index| index == self.before) {
            let (value, length) = match reply::parse(rest, LONGEST_HOST)? {
                Parsed::Whole(value, length) => (value, length),
                Parsed::Part => return Ok(Master::Unread),
                Parsed::TooLong(_) => return Err(NO_ADDRESS),
            };
            match value {
                Value::Error(text) => return Err(WireError::Refused(shown(text))),
                Value::Null if is_last => return Ok(Master::Unknown),
                Value::List(parts) if is_last => return address(&parts).ok_or(NO_ADDRESS),
                _ if is_last => return Err(NO_ADDRESS),
                _ => rest = rest.get(length..).unwrap_or_default(),
            }
        }
        Ok(Master::Unread)
    }
}

fn address(parts: &[Value<'_>]) -> Option<Master> {
    let [Value::Text(host), Value::Text(port)] = parts else {
        return None;
    };
    let host = str::from_utf8(host).ok()?;
    let port = str::from_utf8(port).ok()?.parse().ok()?;
    if host.is_empty() || host.len() > LONGEST_HOST || port == 0 {
        return None;
    }
    Some(Master::At(host.to_owned(), port))
}

const NO_ADDRESS: WireError = WireError::Protocol("a Sentinel answered without an address");

/// The most bytes of a host name.
const LONGEST_HOST: usize = 255;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(user: Option<&str>, password: Option<&str>) -> (MasterQuery, String) {
        let mut query = MasterQuery::default();
        let request = query.request(&Sentinel {
            master: "mymaster".to_owned(),
            user: user.map(str::to_owned),
            password: password.map(str::to_owned),
        });
        (query, String::from_utf8(request).unwrap())
    }

    #[test]
    fn the_question_has_the_credentials_of_the_sentinel() {
        let ask = "*3\r\n$8\r\nSENTINEL\r\n$23\r\nget-master-addr-by-name\r\n$8\r\nmymaster\r\n";
        assert_eq!(query(None, None).1, ask);
        let auth = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n";
        assert_eq!(query(None, Some("pw")).1, format!("{auth}{ask}"));
        let auth = "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$2\r\npw\r\n";
        assert_eq!(query(Some("me"), Some("pw")).1, format!("{auth}{ask}"));
    }

    #[test]
    fn an_answer_is_an_address_or_none() {
        let (plain, _) = query(None, None);
        let whole = b"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n";
        for end in 0..whole.len() {
            assert_eq!(plain.read(&whole[..end]), Ok(Master::Unread));
        }
        let found = Ok(Master::At("127.0.0.1".to_owned(), 6379));
        assert_eq!(plain.read(whole), found);
        let (secret, _) = query(None, Some("pw"));
        assert_eq!(secret.read(&[b"+OK\r\n", &whole[..]].concat()), found);
        assert_eq!(secret.read(b"+OK\r\n"), Ok(Master::Unread));
        for unknown in [&b"*-1\r\n"[..], b"_\r\n", b"$-1\r\n"] {
            assert_eq!(plain.read(unknown), Ok(Master::Unknown));
        }
        let refused = secret.read(b"-WRONGPASS no\r\n");
        assert_eq!(refused, Err(WireError::Refused("WRONGPASS no".to_owned())));
        for wrong in [
            &b"+OK\r\n"[..],
            b"*0\r\n",
            b"*2\r\n$0\r\n\r\n$1\r\n1\r\n",
            b"*2\r\n$1\r\na\r\n$1\r\n0\r\n",
            b"*2\r\n$1\r\na\r\n$5\r\n70000\r\n",
            b"*1\r\n$70000\r\n",
        ] {
            assert!(plain.read(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), proptest::sample::select(b"*$-+\r\n0123456789".to_vec())], 0..100),
        ) {
            let _any = query(None, Some("pw")).0.read(&bytes);
        }
    }
}
