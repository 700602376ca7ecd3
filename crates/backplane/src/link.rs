//! One connection to one server: its socket, bytes that were read but not parsed, and bytes to be written.
//! Owns the bytes; the wire interprets them.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::config::{Config, Protocol, Server};
use crate::connection::{self, Connection};
use crate::link_error::LinkError;
use crate::tls::Encryption;
use crate::wire::nats::{LONGEST_LINE, Nats};
use crate::wire::redis::Redis;
use crate::wire::{Event, SlotRange, Wire, WireError};

/// See the module.
pub(crate) struct Link {
    server: Server,
    stream: Box<dyn Connection>,
    wire: Box<dyn Wire>,
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
    written: usize,
    is_flushed: bool,
    most_input: usize,
    /// Whether anything was received since the last ping.
    is_alive: bool,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Connects and sends the hello.
    pub(crate) async fn connect(
        config: &Config,
        server: &Server,
        encryption: Option<&Encryption>,
    ) -> Result<Self, LinkError> {
        let mut tcp = connection::connect(server).await?;
        let mut info = Vec::new();
        if config.protocol == Protocol::Nats {
            // the first line is unencrypted, even if everything after it is encrypted
            let line = first_line(&mut tcp).await;
            info = line.map_err(|source| LinkError::io(server, source))?;
        }
        let stream = connection::secured(tcp, server, encryption).await?;
        let (prefix, longest) = (&*config.prefix, config.bounds.message_bytes);
        let credentials = config.credentials.clone();
        let mut wire: Box<dyn Wire> = match config.protocol {
            Protocol::Nats => Box::new(Nats::new(prefix, credentials, &info, longest)),
            Protocol::Redis => Box::new(Redis::new(prefix, credentials, false, longest)),
            Protocol::RedisCluster => Box::new(Redis::new(prefix, credentials, true, longest)),
        };
        let mut output = Vec::new();
        wire.open(&mut output);
        Ok(Self {
            server: server.clone(),
            stream,
            wire,
            input: vec![0; READ_BYTES],
            filled: 0,
            output,
            written: 0,
            is_flushed: true,
            most_input: longest.saturating_add(8 * READ_BYTES),
            is_alive: true,
        })
    }

    /// Waits until the server has accepted us and, if it is a cluster, has listed its slots.
    pub(crate) async fn ready(&mut self, is_cluster: bool) -> Result<Vec<SlotRange>, LinkError> {
        let (mut is_ready, mut slots) = (false, None);
        while !is_ready || (is_cluster && slots.is_none()) {
            poll_fn(|cx| {
                self.poll(cx, true, &mut |event| match event {
                    Event::Ready => is_ready = true,
                    Event::Slots(ranges) => slots = Some(ranges),
                    _ => {}
                })
            })
            .await?;
        }
        Ok(slots.unwrap_or_default())
    }

    /// Writes and reads as much as possible without waiting. Ready if anything was written or read.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        reads: bool,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Poll<Result<(), LinkError>> {
        let wrote = self.poll_write(cx)?.is_ready();
        let read = reads && self.poll_read(cx, each)?.is_ready();
        if read {
            // writes at once what reading has produced
            let _goes_on_later = self.poll_write(cx)?;
        }
        if wrote || read {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, LinkError> {
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

    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        each: &mut dyn FnMut(Event<'_>),
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
        self.is_alive = true;
        if self.wire.unanswered() > 2 * MOST_UNANSWERED {
            // the server sends data but does not answer
            return Err(LinkError::Silent(self.server.clone()));
        }
        self.filled += count;
        let input = self.input.get(..self.filled).unwrap_or_default();
        let used = match self.wire.read(input, &mut self.output, each) {
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

    /// Closes the connection after the pending output was written.
    pub(crate) async fn close(mut self) {
        let _closes_anyway = poll_fn(|cx| {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            Pin::new(&mut self.stream).poll_shutdown(cx)
        })
        .await;
    }

    /// Sends a ping. Returns false if nothing was received since the last one.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.wire.ping(&mut self.output);
        std::mem::take(&mut self.is_alive)
    }

    /// The protocol and the output buffer.
    pub(crate) fn parts(&mut self) -> (&mut dyn Wire, &mut Vec<u8>) {
        (&mut *self.wire, &mut self.output)
    }

    /// The number of published messages that are not confirmed yet.
    pub(crate) fn unconfirmed(&self) -> u64 {
        self.wire.unconfirmed()
    }

    /// Whether all output is written.
    pub(crate) fn is_written(&self) -> bool {
        self.output.is_empty() && self.is_flushed
    }

    /// Whether so much output is pending that messages must wait elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        self.output.len() >= MOST_OUTPUT
            || self.wire.unconfirmed() >= MOST_UNCONFIRMED
            || self.wire.unanswered() >= MOST_UNANSWERED
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

async fn first_line(tcp: &mut TcpStream) -> io::Result<Vec<u8>> {
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

/// From this many bytes of pending output on, nothing is added.
const MOST_OUTPUT: usize = 256 * 1024;

/// From this many unconfirmed messages on, none is added.
const MOST_UNCONFIRMED: u64 = 8192;

/// From this many unanswered requests on, nothing is requested; at twice as many the server counts as silent.
const MOST_UNANSWERED: usize = 65_536;
