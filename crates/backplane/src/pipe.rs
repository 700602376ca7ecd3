//! The bytes of one connection: what was read but not parsed, and what is to be written. Owns the buffers and their
//! bounds; knows no protocol.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::config::Server;
use crate::connection::Connection;
use crate::link_error::LinkError;
use crate::wire::WireError;
use crate::wire::nats::LONGEST_LINE;

/// See the module.
pub(crate) struct Pipe {
    server: Server,
    stream: Box<dyn Connection>,
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
    written: usize,
    is_flushed: bool,
    most_input: usize,
}

/// Parses received bytes and may append an answer. Returns how many bytes were consumed.
pub(crate) type Parse<'a> = &'a mut dyn FnMut(&[u8], &mut Vec<u8>) -> Result<usize, WireError>;

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Pipe {
    /// `longest` is the most bytes of one message.
    pub(crate) fn new(server: &Server, stream: Box<dyn Connection>, longest: usize) -> Self {
        Self {
            server: server.clone(),
            stream,
            input: vec![0; READ_BYTES],
            filled: 0,
            output: Vec::new(),
            written: 0,
            is_flushed: true,
            most_input: longest.saturating_add(8 * READ_BYTES),
        }
    }

    /// Writes as much as possible without waiting. Ready if anything was written.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, LinkError> {
        let mut went_on = Poll::Pending;
        loop {
            let rest = self.output.get(self.written..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Pending => return Ok(went_on),
                Poll::Ready(Ok(0)) => return Err(LinkError::Closed(self.server.clone())),
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.is_flushed = false;
                    went_on = Poll::Ready(());
                }
                Poll::Ready(Err(source)) => return Err(self.failed(source)),
            }
        }
        self.output.clear();
        self.output.shrink_to(KEPT_OUTPUT);
        self.written = 0;
        if !self.is_flushed {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.is_flushed = true,
                Poll::Ready(Err(source)) => return Err(self.failed(source)),
                Poll::Pending => {}
            }
        }
        Ok(went_on)
    }

    /// Reads once without waiting, and has it parsed. Ready if anything was read.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        parse: Parse<'_>,
    ) -> Result<Poll<()>, LinkError> {
        if self.filled == self.input.len() {
            if self.filled >= self.most_input {
                return Err(self.wrong(WireError::Protocol("a value is too long")));
            }
            let longer = (self.filled * 2).min(self.most_input);
            self.input.resize(longer, 0);
        }
        let room = self.input.get_mut(self.filled..).unwrap_or_default();
        let mut buffer = ReadBuf::new(room);
        match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
            Poll::Pending => return Ok(Poll::Pending),
            Poll::Ready(Err(source)) => return Err(self.failed(source)),
            Poll::Ready(Ok(())) => {}
        }
        let count = buffer.filled().len();
        if count == 0 {
            return Err(LinkError::Closed(self.server.clone()));
        }
        self.filled += count;
        let input = self.input.get(..self.filled).unwrap_or_default();
        let used = match parse(input, &mut self.output) {
            Ok(used) => used,
            Err(source) => return Err(self.wrong(source)),
        };
        self.input.copy_within(used..self.filled, 0);
        self.filled -= used;
        if self.filled == 0 && self.input.len() > KEPT_INPUT {
            self.input = vec![0; READ_BYTES];
        }
        Ok(Poll::Ready(()))
    }

    /// Lets the system drop what it has not sent when the connection is closed.
    pub(crate) fn drop_unsent(&mut self) {
        self.stream.drop_unsent();
    }

    /// Closes the connection after the pending output was written.
    pub(crate) async fn close(mut self) {
        let _closes_anyway = poll_fn(|cx| {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            Pin::new(&mut self.stream).poll_shutdown(cx)
        })
        .await;
    }

    /// What is to be written. Commands are appended.
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// The number of bytes that are to be written.
    pub(crate) fn pending(&self) -> usize {
        self.output.len()
    }

    /// Whether all output is written.
    pub(crate) fn is_written(&self) -> bool {
        self.output.is_empty() && self.is_flushed
    }

    /// The server that it is connected to.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    fn failed(&self, source: io::Error) -> LinkError {
        LinkError::io(&self.server, source)
    }

    fn wrong(&self, source: WireError) -> LinkError {
        LinkError::wire(&self.server, source)
    }
}

/// Reads the line with which a NATS server begins. It is unencrypted, even if everything after it is encrypted.
pub(crate) async fn first_line(tcp: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        if line.len() >= LONGEST_LINE {
            return Err(io::Error::other("its first line is too long"));
        }
        if tcp.read_buf(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(line)
}

/// The size of one read.
const READ_BYTES: usize = 64 * 1024;

/// The capacity that an emptied input buffer keeps.
const KEPT_INPUT: usize = 1024 * 1024;

/// The capacity that an emptied output buffer keeps.
const KEPT_OUTPUT: usize = 256 * 1024;
