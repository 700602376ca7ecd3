//! The inspector of one connection's bytes. Owns which bytes may be passed on, and where one request ends and
//! the next begins.

use super::chunked::Chunked;
use super::config::InspectorConfig;
use super::field::{Asks, Body};
use super::head::Head;
use super::refusal::Refusal;

/// Follows the requests of one connection. Keeps no bytes: those of an incomplete head must be given again.
#[derive(Debug, Default)]
pub struct Inspector {
    state: State,
    requests: u64,
    /// The last head was of HTTP/1.0.
    http_1_0: bool,
}

#[derive(Debug)]
enum State {
    Head(Head),
    Counted(u64),
    Chunked(Chunked),
    Upgrade,
    Refused { refusal: Refusal, in_body: bool },
}

impl Default for State {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

/// The result of an inspection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The number of bytes from the start that may be passed on. The caller gives the rest again, followed by
    /// new bytes.
    pub passed: usize,
    /// What follows these bytes.
    pub outcome: Outcome,
}

/// What follows the bytes that may be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// More bytes of requests.
    More,
    /// A WebSocket handshake was requested, so the response decides. No further bytes are passed on.
    Upgrade,
    /// An error: the rest must not be read.
    Refused(Refusal),
}

/// The result of an inspection that ends behind the next head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHead {
    /// The head is incomplete. The caller gives its bytes again, followed by new ones.
    Unfinished,
    /// The head has this many bytes, which may be passed on.
    Whole {
        /// The bytes of the head.
        length: usize,
        /// What the request asks for.
        asks: Asks,
    },
    /// An error: the rest must not be read.
    Refused(Refusal),
    /// The last request is not over.
    NotYet,
}

impl Inspector {
    /// Makes an inspector for a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inspects the bytes that were not passed on last time, followed by new ones.
    pub fn inspect(&mut self, bytes: &[u8], config: &InspectorConfig) -> Progress {
        self.inspect_heads(bytes, config, |_, _| {})
    }

    /// Does the same, and calls the function for each head that may be passed on, with its bytes and its
    /// position.
    pub fn inspect_heads(
        &mut self,
        bytes: &[u8],
        config: &InspectorConfig,
        mut see: impl FnMut(usize, &[u8]),
    ) -> Progress {
        let mut passed = 0;
        let outcome = loop {
            let rest = bytes.get(passed..).unwrap_or_default();
            match &mut self.state {
                State::Upgrade => break Outcome::Upgrade,
                State::Refused { refusal, .. } => break Outcome::Refused(*refusal),
                _ if rest.is_empty() => break Outcome::More,
                State::Head(head) => {
                    let advanced = head.advance(rest, config);
                    self.http_1_0 = head.is_http_1_0();
                    match advanced {
                        Ok(None) => break Outcome::More,
                        Ok(Some((body, size))) => {
                            see(passed, rest.get(..size).unwrap_or_default());
                            passed += size;
                            self.requests += 1;
                            self.state = State::after(body);
                        }
                        Err(refusal) => break self.refuse(refusal),
                    }
                }
                State::Counted(left) => {
                    let here = u64::try_from(rest.len()).unwrap_or(u64::MAX).min(*left);
                    *left -= here;
                    passed += usize::try_from(here).unwrap_or(rest.len());
                    if *left == 0 {
                        self.state = State::default();
                    }
                }
                State::Chunked(chunked) => {
                    let (used, ended) = chunked.advance(rest, config);
                    passed += used;
                    match ended {
                        Ok(true) => self.state = State::default(),
                        Ok(false) => break Outcome::More,
                        Err(refusal) => break self.refuse(refusal),
                    }
                }
            }
        };
        Progress { passed, outcome }
    }

    /// Inspects the next head, and nothing behind it: the bytes that were not passed on last time, followed by new ones.
    pub fn next_head(&mut self, bytes: &[u8], config: &InspectorConfig) -> NextHead {
        let head = match &mut self.state {
            State::Head(head) => head,
            State::Refused { refusal, .. } => return NextHead::Refused(*refusal),
            _ => return NextHead::NotYet,
        };
        let advanced = head.advance(bytes, config);
        self.http_1_0 = head.is_http_1_0();
        match advanced {
            Ok(None) => NextHead::Unfinished,
            Ok(Some((body, length))) => {
                let asks = head.asks(body);
                self.requests += 1;
                self.state = State::after(body);
                NextHead::Whole { length, asks }
            }
            Err(refusal) => {
                self.refuse(refusal);
                NextHead::Refused(refusal)
            }
        }
    }

    /// Refuses all following bytes for a reason that the caller found.
    pub fn refuse(&mut self, refusal: Refusal) -> Outcome {
        if !matches!(self.state, State::Refused { .. }) {
            let in_body = self.is_in_body();
            self.state = State::Refused { refusal, in_body };
        }
        Outcome::Refused(refusal)
    }

    /// The number of heads passed on so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Whether the body of the last head is incomplete. A refused body stays incomplete.
    pub fn is_in_body(&self) -> bool {
        matches!(
            self.state,
            State::Counted(_) | State::Chunked(_) | State::Refused { in_body: true, .. }
        )
    }

    /// Whether the last head requested a WebSocket.
    pub fn is_at_upgrade(&self) -> bool {
        matches!(self.state, State::Upgrade)
    }

    /// Whether the first request is incomplete and known to be of HTTP/1.0.
    pub fn is_in_first_of_http_1_0(&self) -> bool {
        let in_first = match self.requests {
            0 => self.is_in_head(),
            1 => self.is_in_body(),
            _ => false,
        };
        in_first && self.http_1_0
    }

    /// Whether the beginning of a head was received.
    pub fn is_in_head(&self) -> bool {
        matches!(&self.state, State::Head(head) if head.is_begun())
    }
}

impl State {
    fn after(body: Body) -> Self {
        match body {
            Body::None => Self::default(),
            Body::Counted(length) => Self::Counted(length),
            Body::Chunked => Self::Chunked(Chunked::new()),
            Body::Upgrade => Self::Upgrade,
        }
    }
}
