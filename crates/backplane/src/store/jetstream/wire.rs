//! The lines of NATS that JetStream needs, without I/O: messages with headers in both directions. Owns their format and the
//! bound on what a server may send.

use bytes::Bytes;

use crate::config::Server;
use crate::wire::nats::LONGEST_LINE;
use crate::wire::nats::info::{Info, server};
use crate::wire::{WireError, shown};

/// What a server has sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Message(Message),
    Pong,
    /// It does not let us publish to a subject, or subscribe to one.
    Forbidden {
        is_publish: bool,
        subject: Box<[u8]>,
        text: String,
    },
    /// The servers of its cluster.
    Servers(Vec<Server>),
}

/// A message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Message {
    /// The number of the subscription.
    pub(in crate::store) subscription: u64,
    /// The number at the end of the subject, which names the request that it answers.
    pub(in crate::store) request: Option<u64>,
    /// What the server says instead of a payload: 404 and 503 are errors.
    pub(in crate::store) status: Option<u16>,
    /// The number in its stream of a message that is told after it was kept.
    pub(in crate::store) sequence: Option<u64>,
    pub(in crate::store) payload: Bytes,
}

/// The receiving side.
#[derive(Debug)]
pub(super) struct Reader {
    longest: usize,
    /// The remaining bytes of a message that is skipped because it is too long.
    to_skip: usize,
}

impl Reader {
    /// `longest` is the most bytes of a message that is received.
    pub(super) fn new(longest: usize) -> Self {
        Self {
            longest,
            to_skip: 0,
        }
    }

    /// Parses received bytes. Returns how many were consumed. The caller gives the rest again, followed by new bytes.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(Heard),
    ) -> Result<usize, WireError> {
        let mut used = self.to_skip.min(input.len());
        self.to_skip -= used;
        while let Some(rest) = input.get(used..).filter(|rest| !rest.is_empty()) {
            let line = rest.get(..LONGEST_LINE).unwrap_or(rest);
            let Some(end) = memchr::memchr(b'\n', line) else {
                if rest.len() >= LONGEST_LINE {
                    return Err(WireError::Protocol("a line is too long"));
                }
                break;
            };
            let (line, behind) = rest.split_at(end + 1);
            let mut words = line
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty());
            let verb = words.next().unwrap_or_default().to_ascii_uppercase();
            let mut length = 0;
            match &*verb {
                b"MSG" | b"HMSG" => {
                    let has_head = &*verb == b"HMSG";
                    let Some(size) = Size::parse(words.clone(), has_head) else {
                        return Err(WireError::Protocol("a message without its parts"));
                    };
                    let Some(part) = self.message(&size, words, behind, each)? else {
                        break;
                    };
                    length = part;
                }
                b"PING" => out.extend_from_slice(b"PONG\r\n"),
                b"PONG" => each(Heard::Pong),
                b"INFO" => {
                    let urls = Info::parse(line).connect_urls.unwrap_or_default();
                    each(Heard::Servers(
                        urls.iter().filter_map(|url| server(url)).collect(),
                    ));
                }
                b"-ERR" => each(forbidden(line)?),
                b"+OK" | b"" => {}
                _ => return Err(WireError::Protocol("an unknown line")),
            }
            used += end + 1 + length;
        }
        Ok(used)
    }

    /// Takes a message. Returns how many bytes belong to it; `None`: they have not all come.
    fn message<'i>(
        &mut self,
        size: &Size,
        mut words: impl Iterator<Item = &'i [u8]>,
        behind: &[u8],
        each: &mut dyn FnMut(Heard),
    ) -> Result<Option<usize>, WireError> {
        let length = size.total.saturating_add(2);
        if size.total > self.longest {
            let here = length.min(behind.len());
            self.to_skip = length - here;
            return Ok(Some(here));
        }
        let Some(body) = behind.get(..length) else {
            return Ok(None);
        };
        let Some(body) = body.strip_suffix(b"\r\n") else {
            return Err(WireError::Protocol("a message without its end"));
        };
        let (head, payload) = body
            .split_at_checked(size.head)
            .ok_or(WireError::Protocol("headers longer than their message"))?;
        let subject = words.next().unwrap_or_default();
        let last = subject.rsplit(|byte| *byte == b'.').next();
        each(Heard::Message(Message {
            subscription: size.subscription,
            request: last.and_then(number),
            status: status(head),
            sequence: header(head, b"Nats-Sequence").and_then(number),
            payload: Bytes::copy_from_slice(payload),
        }));
        Ok(Some(length))
    }
}

/// The numbers of a message's line: `subject subscription [reply] [headers] total`.
struct Size {
    subscription: u64,
    head: usize,
    total: usize,
}

impl Size {
    fn parse<'i>(words: impl Iterator<Item = &'i [u8]>, has_head: bool) -> Option<Self> {
        let words: Vec<_> = words.take(6).collect();
        let sizes = if has_head { 2 } else { 1 };
        if !(2 + sizes..=3 + sizes).contains(&words.len()) {
            return None;
        }
        let mut last = words.iter().rev().map(|word| number(word));
        let total = usize::try_from(last.next()??).ok()?;
        let head = if has_head { last.next()?? } else { 0 };
        Some(Self {
            subscription: number(words.get(1)?)?,
            head: usize::try_from(head).ok()?,
            total,
        })
    }
}

fn number(word: &[u8]) -> Option<u64> {
    str::from_utf8(word).ok()?.parse().ok()
}

/// The status in the first line of headers.
fn status(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"NATS/1.0")?.trim_ascii_start();
    let digits = rest.get(..3)?;
    str::from_utf8(digits).ok()?.parse().ok()
}

/// The value of a header.
fn header<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (key, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        key.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
    })
}

/// What an error means: most end the connection.
fn forbidden(line: &[u8]) -> Result<Heard, WireError> {
    let subject = line.split(|byte| *byte == b'"').nth(1);
    let text = shown(line.trim_ascii());
    let lower = text.to_ascii_lowercase();
    if lower.contains("permissions violation") {
        return Ok(Heard::Forbidden {
            is_publish: lower.contains("permissions violation for publish"),
            subject: subject.unwrap_or_default().into(),
            text,
        });
    }
    Err(
        if lower.contains("authorization") || lower.contains("authentication") {
            WireError::Refused(text)
        } else {
            WireError::Ended(text)
        },
    )
}

/// Appends a message with headers.
pub(super) fn publish(
    (subject, reply): (&str, &str),
    headers: &[(&str, &str)],
    parts: &[&[u8]],
    out: &mut Vec<u8>,
) {
    let mut head = String::new();
    if !headers.is_empty() {
        head.push_str("NATS/1.0\r\n");
        for (name, value) in headers {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
    }
    let total: usize = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
    let line = if head.is_empty() {
        format!("PUB {subject} {reply} {total}\r\n")
    } else {
        format!("HPUB {subject} {reply} {} {total}\r\n", head.len())
    };
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(head.as_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a subscription with this number.
pub(super) fn subscribe(subject: &str, subscription: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("SUB {subject} {subscription}\r\n").as_bytes());
}

/// Appends its end.
pub(super) fn unsubscribe(subscription: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("UNSUB {subscription}\r\n").as_bytes());
}

/// The most bytes that headers have beside their values.
pub(super) const HEADERS: usize = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is heard in these bytes, which come in pieces of this size.
    fn heard(server: &[u8], step: usize) -> Result<Vec<Heard>, WireError> {
        let mut reader = Reader::new(100);
        let (mut all, mut input, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for piece in server.chunks(step) {
            input.extend_from_slice(piece);
            let used = reader.read(&input, &mut out, &mut |one| all.push(one))?;
            input.drain(..used);
        }
        Ok(all)
    }

    fn message(subscription: u64, payload: &'static [u8]) -> Message {
        Message {
            subscription,
            payload: Bytes::from_static(payload),
            ..Message::default()
        }
    }

    #[test]
    fn messages_are_read_however_they_are_split() {
        let server = b"INFO {\"connect_urls\":[\"a:1\"]}\r\nPONG\r\nMSG a 2 5\r\nhello\r\n\
            HMSG _INBOX.x.7 1 reply 16 16\r\nNATS/1.0 503\r\n\r\n\r\n\
            HMSG t 3 31 33\r\nNATS/1.0\r\nnats-sequence: 12\r\n\r\nhi\r\n+OK\r\n";
        let servers = vec![Server {
            host: "a".to_owned(),
            port: 1,
        }];
        let expected = [
            Heard::Servers(servers),
            Heard::Pong,
            Heard::Message(message(2, b"hello")),
            Heard::Message(Message {
                request: Some(7),
                status: Some(503),
                ..message(1, b"")
            }),
            Heard::Message(Message {
                sequence: Some(12),
                ..message(3, b"hi")
            }),
        ];
        for step in 1..server.len() {
            assert_eq!(heard(server, step).unwrap(), expected, "{step}");
        }
    }

    #[test]
    fn a_message_over_the_bound_is_skipped() {
        let server = [
            b"MSG a 1 1000\r\n".as_slice(),
            &[b'x'; 1000],
            b"\r\nPONG\r\n",
        ]
        .concat();
        for step in [1, 7, 500, server.len()] {
            assert_eq!(heard(&server, step).unwrap(), [Heard::Pong]);
        }
    }

    #[test]
    fn an_error_ends_the_connection_unless_it_is_about_permissions() {
        let text = b"-ERR 'Permissions Violation for Subscription to \"a.b\"'\r\n";
        let all = heard(text, 100).unwrap();
        assert!(
            matches!(&*all, [Heard::Forbidden { is_publish: false, subject, .. }] if **subject == *b"a.b")
        );
        assert!(matches!(
            heard(b"-ERR 'Authorization Violation'\r\n", 100),
            Err(WireError::Refused(_))
        ));
        assert!(matches!(
            heard(b"-ERR 'Slow Consumer'\r\n", 100),
            Err(WireError::Ended(_))
        ));
    }

    #[test]
    fn wrong_lines_are_errors() {
        for wrong in [
            &b"HELLO\r\n"[..],
            b"MSG a\r\n",
            b"MSG a 1 x\r\n",
            b"MSG a 1 2\r\nabcd",
            b"HMSG a 1 5 2\r\nab\r\n",
            b"HMSG a 1 2\r\n",
            &vec![b'x'; LONGEST_LINE],
        ] {
            assert!(heard(wrong, wrong.len()).is_err());
        }
    }

    #[test]
    fn a_message_is_written_with_its_headers() {
        let mut out = Vec::new();
        publish(("a", "b"), &[("K", "v")], &[b"he", b"llo"], &mut out);
        publish(("a", "b"), &[], &[], &mut out);
        subscribe("a", 1, &mut out);
        unsubscribe(1, &mut out);
        let expected = "HPUB a b 18 23\r\nNATS/1.0\r\nK: v\r\n\r\nhello\r\nPUB a b 0\r\n\r\nSUB a 1\r\nUNSUB 1\r\n";
        assert_eq!(str::from_utf8(&out), Ok(expected));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>, step in 1_usize..20) {
            let _any = heard(&bytes, step);
            let _any = heard(&[b"HMSG a 1 ", &bytes[..]].concat(), step);
        }
    }
}
