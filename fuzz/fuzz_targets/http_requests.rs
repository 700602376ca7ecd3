//! A stream of HTTP requests has the same result whether it is inspected in one read or in many. Nothing is
//! passed on after an error, and at most a head is held back. Heads that are asked for one by one are the same, too.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use millrace_protocol::http::{Asks, Inspector, InspectorConfig, NextHead, Outcome};

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    head_bytes: u8,
    body_bytes: u8,
    pieces: Vec<Piece<'a>>,
    /// The lengths of the reads, repeated cyclically.
    reads: Vec<u8>,
    as_node: bool,
}

/// Random bytes alone rarely form a request line, and valid lines alone are never refused.
#[derive(Debug, Arbitrary)]
enum Piece<'a> {
    Raw(&'a [u8]),
    Request(u8),
    Line(Name, &'a [u8]),
    Length(u8),
    Chunked,
    Chunk(&'a [u8]),
    LastChunk,
    End,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Name {
    Host,
    Upgrade,
    Connection,
    Expect,
    Length,
    Encoding,
    Other,
}

const REQUESTS: [&str; 6] = [
    "GET / HTTP/1.1\r\nHost: x\r\n",
    "POST /a?b HTTP/1.1\r\nHost: x\r\n",
    "HEAD / HTTP/1.0\r\n",
    "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: x\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n",
];

fuzz_target!(|case: Case<'_>| {
    let config = InspectorConfig {
        head_bytes: usize::from(case.head_bytes) * 4,
        headers: 6,
        target_bytes: 32,
        body_bytes: u64::from(case.body_bytes),
        as_node: case.as_node,
    };
    let stream = stream(&case.pieces);
    let whole = inspect(&config, std::iter::once(&stream[..]));
    let mut rest = &stream[..];
    let mut reads = Vec::new();
    for length in case.reads.iter().cycle().take(stream.len()) {
        let (read, after) = rest.split_at(usize::from(*length).min(rest.len()));
        reads.push(read);
        rest = after;
    }
    reads.push(rest);
    assert_eq!(inspect(&config, reads.into_iter()), whole);
    assert_eq!(by_heads(&config, &stream), whole);
});

/// Asks for one head after the other, up to the first body, and inspects the rest.
fn by_heads(config: &InspectorConfig, stream: &[u8]) -> Seen {
    let mut inspector = Inspector::new();
    let mut passed = 0;
    while passed < stream.len() {
        match inspector.next_head(&stream[passed..], config) {
            NextHead::Whole { length, asks } => {
                if asks != Asks::More {
                    assert!(stream[passed..].starts_with(b"GET /"));
                    assert!(!inspector.is_in_body());
                    assert_eq!(inspector.is_at_upgrade(), asks == Asks::WebSocket);
                }
                passed += length;
            }
            NextHead::Unfinished | NextHead::Refused(_) | NextHead::NotYet => break,
        }
    }
    let progress = inspector.inspect(&stream[passed..], config);
    Seen {
        passed: passed + progress.passed,
        outcome: progress.outcome,
        requests: inspector.requests(),
        in_body: inspector.is_in_body(),
    }
}

fn stream(pieces: &[Piece<'_>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Raw(bytes) => stream.extend_from_slice(bytes),
            Piece::Request(which) => {
                let request = REQUESTS[usize::from(*which) % REQUESTS.len()];
                stream.extend_from_slice(request.as_bytes());
            }
            Piece::Line(name, value) => {
                stream.extend_from_slice(name.text().as_bytes());
                stream.extend_from_slice(value);
                stream.extend_from_slice(b"\r\n");
            }
            Piece::Length(length) => {
                stream.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
            }
            Piece::Chunked => stream.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Piece::Chunk(bytes) => {
                stream.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
                stream.extend_from_slice(bytes);
                stream.extend_from_slice(b"\r\n");
            }
            Piece::LastChunk => stream.extend_from_slice(b"0\r\n"),
            Piece::End => stream.extend_from_slice(b"\r\n"),
        }
    }
    stream
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::Host => "Host:",
            Self::Upgrade => "Upgrade: ",
            Self::Connection => "Connection: ",
            Self::Expect => "Expect: ",
            Self::Length => "Content-Length: ",
            Self::Encoding => "Transfer-Encoding: ",
            Self::Other => "Accept: ",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    passed: usize,
    outcome: Outcome,
    requests: u64,
    in_body: bool,
}

fn inspect<'a>(config: &InspectorConfig, reads: impl Iterator<Item = &'a [u8]>) -> Seen {
    let mut inspector = Inspector::new();
    let mut held: Vec<u8> = Vec::new();
    let mut passed = 0;
    let mut outcome = Outcome::More;
    for read in reads {
        held.extend_from_slice(read);
        let progress = inspector.inspect(&held, config);
        if outcome != Outcome::More {
            assert_eq!((progress.passed, progress.outcome), (0, outcome));
        }
        passed += progress.passed;
        held.drain(..progress.passed);
        outcome = progress.outcome;
        if outcome == Outcome::More {
            // an empty line in front of a head and the first byte of another one, if the limit is lower than that
            assert!(
                held.len() <= config.head_bytes.max(3),
                "{} bytes are held",
                held.len()
            );
        }
    }
    Seen {
        passed,
        outcome,
        requests: inspector.requests(),
        in_body: inspector.is_in_body(),
    }
}
