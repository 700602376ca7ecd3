//! A request's head. Each line is checked as soon as it is complete.

use super::config::InspectorConfig;
use super::field::{Asks, Body, Fields};
use super::refusal::Refusal;
use super::request_line::{self, RequestLine};

/// A head that is incomplete or has not begun.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head {
    /// Where the first unchecked line begins.
    line: usize,
    /// How many bytes were searched for line ends.
    seen: usize,
    headers: usize,
    request: Option<RequestLine>,
    /// The received part of the first line excludes every version but HTTP/1.0.
    says_http_1_0: bool,
    /// An empty line came before the first one.
    begins_empty: bool,
    fields: Fields,
}

impl Head {
    /// Reads the head at the start of `bytes`, which begin with the bytes of the last call. Returns what
    /// follows the head, and the head's length, when the head is complete.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        config: &InspectorConfig,
    ) -> Result<Option<(Body, usize)>, Refusal> {
        while let Some(found) = memchr::memchr(b'\n', bytes.get(self.seen..).unwrap_or_default()) {
            let end = self.seen + found;
            let line = bytes.get(self.line..end).unwrap_or_default();
            if self.request.is_none() && self.line == 0 && line == b"\r" {
                // some clients send an empty line after a body (RFC 9112 §2.2)
                (self.line, self.seen) = (2, 2);
                self.begins_empty = true;
                continue;
            }
            let size = end + 1;
            if let Some(body) = self.judge(line, size, config)? {
                return Ok(Some((body, size)));
            }
            (self.line, self.seen) = (size, size);
        }
        self.seen = bytes.len();
        self.judge_unfinished(bytes, config)?;
        Ok(None)
    }

    /// Whether the head is known to be of HTTP/1.0. An incomplete first line can be enough for that.
    pub(super) fn is_http_1_0(&self) -> bool {
        self.request
            .map_or(self.says_http_1_0, |request| request.http_1_0)
    }

    /// What a complete head asks of its connection, if `body` follows it. An empty line in front of the head is more
    /// than other requests have.
    pub(super) fn asks(&self, body: Body) -> Asks {
        match self.request {
            Some(request) if !self.begins_empty => self.fields.asks(request, body),
            _ => Asks::More,
        }
    }

    /// Whether any of its bytes were received.
    pub(super) fn is_begun(&self) -> bool {
        self.seen > 0
    }

    fn judge(
        &mut self,
        line: &[u8],
        size: usize,
        config: &InspectorConfig,
    ) -> Result<Option<Body>, Refusal> {
        let Some(request) = self.request else {
            self.judge_beginning(line, config)?;
            if size > config.head_bytes {
                return Err(Refusal::TargetTooLong);
            }
            self.request = Some(request_line::parse(without_cr(line)?, config)?);
            return Ok(None);
        };
        if size > config.head_bytes {
            return Err(Refusal::HeadTooBig);
        }
        let line = without_cr(line)?;
        if line.is_empty() {
            return self.fields.body(request, config.body_bytes).map(Some);
        }
        self.headers += 1;
        if self.headers > config.headers {
            return Err(Refusal::TooManyHeaders);
        }
        self.fields.add(line, request, config.as_node)?;
        Ok(None)
    }

    /// Checks a line before its end has come. Finds the same error that [`judge`](Self::judge) would report
    /// first.
    fn judge_unfinished(&mut self, bytes: &[u8], config: &InspectorConfig) -> Result<(), Refusal> {
        let too_big = bytes.len() >= config.head_bytes;
        if self.request.is_some() {
            return if too_big {
                Err(Refusal::HeadTooBig)
            } else {
                Ok(())
            };
        }
        let line = bytes.get(self.line..).unwrap_or_default();
        if line == b"\r" {
            return Ok(());
        }
        self.judge_beginning(line, config)?;
        self.says_http_1_0 = request_line::says_http_1_0(line);
        if too_big {
            Err(Refusal::TargetTooLong)
        } else {
            Ok(())
        }
    }

    /// Checks only as much of a request line as a head may contain, so that the result for a long line does not
    /// depend on when its end comes.
    fn judge_beginning(&self, line: &[u8], config: &InspectorConfig) -> Result<(), Refusal> {
        let reach = config.head_bytes.saturating_sub(self.line);
        let line = line.get(..reach).unwrap_or(line);
        request_line::unfinished(line, config.target_bytes)
    }
}

/// Removes the CR that must precede a line's LF.
pub(super) fn without_cr(line: &[u8]) -> Result<&[u8], Refusal> {
    line.strip_suffix(b"\r").ok_or(Refusal::BareLineFeed)
}
