//! Requests: arrays of byte strings, or inline requests. Owns the bytes of an incomplete request, and nothing else.

use memchr::memchr;

use super::error::RequestError;
use super::inline::split_line;
use super::number::parse_integer;

/// The limits of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// The most bytes of one argument. All arguments together may have 128 KiB more, where each counts as 16 bytes
    /// longer.
    pub argument_bytes: usize,
    /// Whether the peer is not authenticated yet. Then much lower limits apply.
    pub unauthenticated: bool,
}

/// Decodes requests from pieces of input of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What the current request needs next.
    expects: Expects,
    /// The bytes of a request that did not come in one piece, or the words of an inline request.
    held: Vec<u8>,
    /// How many of these bytes are decoded.
    scanned: usize,
    arguments: Vec<Span>,
    /// The size of all arguments, as it counts against the limit.
    total: usize,
    /// Whether the current request was returned to the caller.
    finished: bool,
}

/// A request. Its first argument is its name.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    bytes: &'a [u8],
    arguments: &'a [Span],
}

/// The position of an argument. 32 bits suffice, because a request is much smaller than 4 GiB.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum Expects {
    #[default]
    Anything,
    Line,
    Count,
    /// The length of the first of this many arguments.
    Length(i64),
    /// The bytes of the first of this many arguments.
    Bytes(i64, usize),
}

/// Where a complete request lies.
enum Place<'i> {
    Input(&'i [u8]),
    Held,
}

impl Decoder {
    /// Makes a decoder for a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the next request and removes it from `input`. `None` means that all input was consumed and more is
    /// needed. After an error a decoder must not be used again.
    ///
    /// # Example
    ///
    /// ```
    /// use millrace_protocol::resp::{Decoder, RequestLimits};
    ///
    /// let limits = RequestLimits { argument_bytes: 1000, unauthenticated: false };
    /// let mut input = &b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n*1"[..];
    /// let mut decoder = Decoder::new();
    /// let request = decoder.next(&mut input, &limits).unwrap().unwrap();
    /// assert_eq!(request.iter().collect::<Vec<_>>(), [&b"GET"[..], b"k"]);
    /// let request = decoder.next(&mut input, &limits).unwrap().unwrap();
    /// assert_eq!(request.get(0), Some(&b"PING"[..]));
    /// assert!(decoder.next(&mut input, &limits).unwrap().is_none());
    /// assert_eq!(decoder.unfinished(), Some(2));
    /// ```
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        limits: &RequestLimits,
    ) -> Result<Option<Request<'a>>, RequestError> {
        let Some(place) = self.complete(input, limits)? else {
            return Ok(None);
        };
        self.finished = true;
        Ok(Some(Request {
            bytes: match place {
                Place::Input(bytes) => bytes,
                Place::Held => &self.held,
            },
            arguments: &self.arguments,
        }))
    }

    /// The bytes received of an incomplete request; `None` between requests.
    pub fn unfinished(&self) -> Option<usize> {
        (!self.finished && !self.held.is_empty()).then_some(self.held.len())
    }

    /// The memory held, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.held.capacity() + self.arguments.capacity() * size_of::<Span>()
    }

    /// Decodes until a request with a name is complete.
    fn complete<'i>(
        &mut self,
        input: &mut &'i [u8],
        limits: &RequestLimits,
    ) -> Result<Option<Place<'i>>, RequestError> {
        if self.finished {
            self.forget();
        }
        while !input.is_empty() {
            let place = if self.held.is_empty() {
                self.in_place(input, limits)?
            } else {
                self.in_pieces(input, limits)?
            };
            match place {
                // an empty line or array is not a request
                Some(_) if self.arguments.is_empty() => self.forget(),
                Some(place) => return Ok(Some(place)),
                None => {}
            }
        }
        Ok(None)
    }

    /// Looks for a complete request at the beginning of the input. Keeps the bytes of an incomplete one.
    fn in_place<'i>(
        &mut self,
        input: &mut &'i [u8],
        limits: &RequestLimits,
    ) -> Result<Option<Place<'i>>, RequestError> {
        let bytes = *input;
        if !self.scan(bytes, limits)? {
            self.held.extend_from_slice(bytes);
            *input = &[];
            return Ok(None);
        }
        let (request, rest) = bytes.split_at(self.scanned.min(bytes.len()));
        *input = rest;
        if matches!(self.expects, Expects::Line) {
            self.split(request)?;
            return Ok(Some(Place::Held));
        }
        Ok(Some(Place::Input(request)))
    }

    /// Continues with a request that is kept.
    fn in_pieces<'i>(
        &mut self,
        input: &mut &'i [u8],
        limits: &RequestLimits,
    ) -> Result<Option<Place<'i>>, RequestError> {
        let (piece, rest) = input.split_at(self.wanted(input));
        *input = rest;
        self.held.extend_from_slice(piece);
        let held = std::mem::take(&mut self.held);
        let whole = self.scan(&held, limits)?;
        self.held = held;
        if whole && matches!(self.expects, Expects::Line) {
            let line = std::mem::take(&mut self.held);
            self.split(&line)?;
        }
        Ok(whole.then_some(Place::Held))
    }

    /// How many bytes of the input belong to the request that is kept, as far as that is known.
    fn wanted(&self, input: &[u8]) -> usize {
        let most = match self.expects {
            Expects::Bytes(_, length) => {
                (self.scanned + length + 2).saturating_sub(self.held.len())
            }
            Expects::Line => memchr(b'\n', input).map_or(LINE_PIECE, |end| end + 1),
            _ if self.held.last() == Some(&b'\r') => 1,
            _ => memchr(b'\r', input).map_or(LINE_PIECE, |end| end + 1),
        };
        most.clamp(1, input.len())
    }

    /// Continues to decode in `bytes`, which begin with the request. Returns whether it is complete.
    fn scan(&mut self, bytes: &[u8], limits: &RequestLimits) -> Result<bool, RequestError> {
        loop {
            match self.expects {
                Expects::Anything => match bytes.first() {
                    None => return Ok(false),
                    Some(b'*') => self.expects = Expects::Count,
                    Some(_) => self.expects = Expects::Line,
                },
                Expects::Line => return self.scan_line(bytes),
                Expects::Count => {
                    let Some(line) = self.header(bytes, RequestError::CountTooLong)? else {
                        return Ok(false);
                    };
                    let count = parse_integer(line.get(1..).unwrap_or_default())
                        .filter(|count| *count <= MOST_ARGUMENTS)
                        .ok_or(RequestError::InvalidCount)?;
                    if limits.unauthenticated && count > UNAUTHENTICATED_ARGUMENTS {
                        return Err(RequestError::UnauthenticatedCount);
                    }
                    if count <= 0 {
                        return Ok(true);
                    }
                    self.expects = Expects::Length(count);
                }
                Expects::Length(left) => {
                    let start = self.scanned;
                    let Some(line) = self.header(bytes, RequestError::LengthTooLong)? else {
                        return Ok(false);
                    };
                    if line.first() != Some(&b'$') {
                        let found = bytes.get(start).copied().unwrap_or_default();
                        return Err(RequestError::NoArgument(found));
                    }
                    let length = self.announced(line.get(1..).unwrap_or_default(), limits)?;
                    self.expects = Expects::Bytes(left, length);
                }
                Expects::Bytes(left, length) => {
                    // like Redis, ignores the value of the two bytes after an argument
                    let end = self.scanned + length;
                    if bytes.len() < end + 2 {
                        return Ok(false);
                    }
                    self.keep(self.scanned, end)?;
                    self.scanned = end + 2;
                    if left == 1 {
                        return Ok(true);
                    }
                    self.expects = Expects::Length(left - 1);
                }
            }
        }
    }

    /// Checks the length of an argument, alone and together with the arguments before.
    fn announced(&mut self, digits: &[u8], limits: &RequestLimits) -> Result<usize, RequestError> {
        let length = parse_integer(digits)
            .and_then(|length| usize::try_from(length).ok())
            .filter(|length| *length <= limits.argument_bytes)
            .ok_or(RequestError::InvalidLength)?;
        if limits.unauthenticated && length > UNAUTHENTICATED_BYTES {
            return Err(RequestError::UnauthenticatedLength);
        }
        self.total += length + ARGUMENT_CHARGE;
        if self.total > limits.argument_bytes.saturating_add(SLACK_BYTES) {
            return Err(RequestError::TooBig);
        }
        Ok(length)
    }

    /// Reads a header line of a request that is not inline. Returns it without its end and moves behind it.
    fn header<'b>(
        &mut self,
        bytes: &'b [u8],
        too_long: RequestError,
    ) -> Result<Option<&'b [u8]>, RequestError> {
        let rest = bytes.get(self.scanned..).unwrap_or_default();
        let Some(end) = memchr(b'\r', first(rest)) else {
            return if rest.len() > LINE_BYTES {
                Err(too_long)
            } else {
                Ok(None)
            };
        };
        if rest.len() < end + 2 {
            return Ok(None);
        }
        self.scanned += end + 2;
        Ok(rest.get(..end))
    }

    fn scan_line(&mut self, bytes: &[u8]) -> Result<bool, RequestError> {
        match memchr(b'\n', first(bytes)) {
            Some(end) => {
                self.scanned = end + 1;
                Ok(true)
            }
            None if bytes.len() > LINE_BYTES => Err(RequestError::InlineTooBig),
            None => Ok(false),
        }
    }

    /// Keeps the words of an inline request.
    fn split(&mut self, line: &[u8]) -> Result<(), RequestError> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (mut words, mut spans) = (Vec::new(), Vec::new());
        split_line(line, |word| {
            let start = words.len();
            words.extend_from_slice(word);
            spans.push((start, words.len()));
        })?;
        self.held = words;
        for (start, end) in spans {
            self.keep(start, end)?;
        }
        Ok(())
    }

    fn keep(&mut self, start: usize, end: usize) -> Result<(), RequestError> {
        let place = |at| u32::try_from(at).map_err(|_| RequestError::TooBig);
        let (start, end) = (place(start)?, place(end)?);
        self.arguments.push(Span { start, end });
        Ok(())
    }

    fn forget(&mut self) {
        self.expects = Expects::Anything;
        self.held = Vec::new();
        self.scanned = 0;
        self.total = 0;
        self.arguments.clear();
        self.arguments.shrink_to(KEPT_ARGUMENTS);
        self.finished = false;
    }
}

impl<'a> Request<'a> {
    /// The number of arguments, with the name: at least one.
    pub fn count(&self) -> usize {
        self.arguments.len()
    }

    /// One of the arguments. Argument 0 is the name.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let span = self.arguments.get(index)?;
        Some(span.of(self.bytes))
    }

    /// The arguments, beginning with the name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.arguments.iter().map(move |span| span.of(bytes))
    }
}

impl Span {
    fn of(self, bytes: &[u8]) -> &[u8] {
        let place = |at| usize::try_from(at).unwrap_or(usize::MAX);
        bytes
            .get(place(self.start)..place(self.end))
            .unwrap_or_default()
    }
}

/// The bytes in which a line end must be found.
fn first(bytes: &[u8]) -> &[u8] {
    bytes.get(..=LINE_BYTES).unwrap_or(bytes)
}

/// The most bytes of a line, inline or header, before its end.
const LINE_BYTES: usize = 64 * 1024;

/// How many bytes of a line are taken at once while its end is not found.
const LINE_PIECE: usize = 4096;

/// The most arguments of a request.
pub const MOST_ARGUMENTS: i64 = 1024 * 1024;

/// The most arguments of an unauthenticated client's request, and the most bytes of each.
const UNAUTHENTICATED_ARGUMENTS: i64 = 10;
const UNAUTHENTICATED_BYTES: usize = 16 * 1024;

/// What an argument counts in addition to its bytes.
const ARGUMENT_CHARGE: usize = 16;

/// By how much all arguments together may exceed the limit of one.
const SLACK_BYTES: usize = 128 * 1024;

/// How many arguments the list keeps capacity for between requests.
const KEPT_ARGUMENTS: usize = 8;
