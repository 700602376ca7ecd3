//! Requests: arrays of byte strings, or lines that a person types. Owns the bytes of a request that has not come to its
//! end, and nothing else.

use memchr::memchr;

use super::error::RequestError;
use super::inline::split_line;
use super::number::parse_integer;

/// Bounds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Bytes of one argument, inclusive. All together, each counted 16 bytes longer, may have 128 KiB more.
    pub argument_bytes: usize,
    /// Whether the peer still has to say who it is: then it is taken little of.
    pub unauthenticated: bool,
}

/// Takes bytes in pieces of any size and gives requests.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What is to come next of the request that begins the bytes.
    expects: Expects,
    /// The request's bytes, if it did not come in one piece; those of its words, if it was a line.
    held: Vec<u8>,
    /// Its bytes that are understood.
    scanned: usize,
    arguments: Vec<Span>,
    /// What its arguments count together.
    total: usize,
    /// It was given out.
    finished: bool,
}

/// A request: its name is the first argument.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    bytes: &'a [u8],
    arguments: &'a [Span],
}

/// Where an argument lies. A request is much smaller than 4 GiB.
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
    /// The length of the first of so many arguments.
    Length(i64),
    /// The bytes of the first of so many arguments.
    Bytes(i64, usize),
}

/// Where a request lies that is complete.
enum Place<'i> {
    Input(&'i [u8]),
    Held,
}

impl Decoder {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next request in `input`, which is moved on behind what was taken; `None`: all of it was, and more is needed.
    /// Once it failed, a decoder is of no use any more.
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

    /// Bytes of a request that has not come to its end; `None` between requests.
    pub fn unfinished(&self) -> Option<usize> {
        (!self.finished && !self.held.is_empty()).then_some(self.held.len())
    }

    /// Memory held, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.held.capacity() + self.arguments.capacity() * size_of::<Span>()
    }

    /// Goes on until there is a request with a name.
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
                // an empty line or array asks nothing
                Some(_) if self.arguments.is_empty() => self.forget(),
                Some(place) => return Ok(Some(place)),
                None => {}
            }
        }
        Ok(None)
    }

    /// Looks for a request that begins the input; what there is of one is kept.
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

    /// Goes on with a request that is kept.
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

    /// How much of the input belongs to the request that is kept, for all that is known.
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

    /// Reads on in `bytes`, which begin with the request. True: it is complete.
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
                    // as in Redis, nobody looks at what the two bytes behind it are
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

    /// The length of an argument, which is bounded alone and with those before.
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

    /// A line of a request that is not typed, without its end; moves behind it.
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

    /// Keeps the words of a line.
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
    /// How many arguments it has, its name included: at least one.
    pub fn count(&self) -> usize {
        self.arguments.len()
    }

    /// One of its arguments; 0 is its name.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let span = self.arguments.get(index)?;
        Some(span.of(self.bytes))
    }

    /// Its arguments, from its name on.
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

/// What of a line may be in front of its end, and that end.
fn first(bytes: &[u8]) -> &[u8] {
    bytes.get(..=LINE_BYTES).unwrap_or(bytes)
}

/// Bytes of a line, typed or not, in front of its end.
const LINE_BYTES: usize = 64 * 1024;

/// Bytes of a line taken at once where its end is not seen.
const LINE_PIECE: usize = 4096;

/// Arguments of a request.
pub const MOST_ARGUMENTS: i64 = 1024 * 1024;

/// … and of one by somebody who has not said who that is, and bytes of each.
const UNAUTHENTICATED_ARGUMENTS: i64 = 10;
const UNAUTHENTICATED_BYTES: usize = 16 * 1024;

/// What an argument counts beside its bytes.
const ARGUMENT_CHARGE: usize = 16;

/// How much more than one argument all may have.
const SLACK_BYTES: usize = 128 * 1024;

/// Room for arguments that is kept between requests.
const KEPT_ARGUMENTS: usize = 8;
