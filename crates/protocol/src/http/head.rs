//! A request's head: judged line by line, each as soon as it is whole.

use super::config::InspectorConfig;
use super::field::{Body, Fields};
use super::refusal::Refusal;
use super::request_line::{self, RequestLine};

/// A head that is not whole yet, or not begun.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head {
    /// Where the first line begins that was not judged.
    line: usize,
    /// Bytes in which all line ends were found.
    seen: usize,
    headers: usize,
    request: Option<RequestLine>,
    /// What has come of the first line leaves no other version.
    says_http_1_0: bool,
    fields: Fields,
}

impl Head {
    /// Looks at the head at the start of `bytes`, which are those of the last look and more. Gives back what
    /// follows the head and its length once it is whole.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        config: &InspectorConfig,
    ) -> Result<Option<(Body, usize)>, Refusal> {
        while let Some(found) = memchr::memchr(b'\n', bytes.get(self.seen..).unwrap_or_default()) {
            let end = self.seen + found;
            let line = bytes.get(self.line..end).unwrap_or_default();
            if self.request.is_none() && self.line == 0 && line == b"\r" {
                // some clients send an empty line behind a body (RFC 9112 §2.2)
                (self.line, self.seen) = (2, 2);
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

    /// Whether it is known to be of HTTP/1.0; its first line need not be whole for that.
    pub(super) fn is_http_1_0(&self) -> bool {
        self.request
            .map_or(self.says_http_1_0, |request| request.http_1_0)
    }

    /// Whether anything of it has come.
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
        self.fields.add(line, request)?;
        Ok(None)
    }

    /// Everything that is known of a line before its end: the same as [`judge`](Self::judge) says first.
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

    /// Judges a request line as far as a head may reach, so that a long one is judged alike whenever its end comes.
    fn judge_beginning(&self, line: &[u8], config: &InspectorConfig) -> Result<(), Refusal> {
        let reach = config.head_bytes.saturating_sub(self.line);
        let line = line.get(..reach).unwrap_or(line);
        request_line::unfinished(line, config.target_bytes)
    }
}

/// A line without the CR before its LF.
pub(super) fn without_cr(line: &[u8]) -> Result<&[u8], Refusal> {
    line.strip_suffix(b"\r").ok_or(Refusal::BareLineFeed)
}
