//! One connection to one server, and its protocol. Owns how it is opened, and when too much waits for the server; the
//! pipe owns the bytes, and the wire interprets them.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::config::{Config, Protocol, Server};
use crate::connection;
use crate::link_error::LinkError;
use crate::pipe::{Pipe, first_line};
use crate::silence::Silence;
use crate::tls::Encryption;
use crate::wire::nats::Nats;
use crate::wire::redis::Redis;
use crate::wire::{Event, SlotRange, Wire};

/// See the module.
pub(crate) struct Link {
    pipe: Pipe,
    wire: Box<dyn Wire>,
    silence: Silence,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("server", self.server())
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
        let mut pipe = Pipe::new(server, stream, longest);
        wire.open(pipe.output());
        Ok(Self {
            pipe,
            wire,
            silence: Silence::default(),
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
        let wrote = self.pipe.poll_write(cx)?.is_ready();
        self.silence.wrote(Instant::now);
        let read = reads && self.poll_read(cx, each)?.is_ready();
        if read {
            // writes at once what reading has produced
            let _goes_on_later = self.pipe.poll_write(cx)?;
        }
        if wrote || read {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<Poll<()>, LinkError> {
        let (wire, mut is_silent) = (&mut self.wire, false);
        let read = self.pipe.poll_read(cx, &mut |input, output| {
            is_silent = wire.unanswered() > 2 * MOST_UNANSWERED;
            if is_silent {
                Ok(0)
            } else {
                wire.read(input, output, each)
            }
        })?;
        if is_silent {
            // the server sends data but does not answer
            return Err(LinkError::Silent(self.server().clone()));
        }
        if read.is_ready() {
            self.silence.heard();
        }
        Ok(read)
    }

    /// Closes the connection after the pending output was written.
    pub(crate) async fn close(self) {
        self.pipe.close().await;
    }

    /// Sends a ping.
    pub(crate) fn ping(&mut self, now: Instant) {
        self.wire.ping(self.pipe.output());
        self.silence.asked(now);
    }

    /// Whether the server has not answered a ping in time, if what has come until now was read.
    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        self.silence.is_over(now)
    }

    /// The protocol and the output buffer.
    pub(crate) fn parts(&mut self) -> (&mut dyn Wire, &mut Vec<u8>) {
        (&mut *self.wire, self.pipe.output())
    }

    /// The number of published messages that are not confirmed yet.
    pub(crate) fn unconfirmed(&self) -> u64 {
        self.wire.unconfirmed()
    }

    /// Whether all output is written.
    pub(crate) fn is_written(&self) -> bool {
        self.pipe.is_written()
    }

    /// Whether so much output is pending that messages must wait elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        self.pipe.pending() >= MOST_OUTPUT
            || self.wire.unconfirmed() >= MOST_UNCONFIRMED
            || self.wire.unanswered() >= MOST_UNANSWERED
    }

    /// The server that it is connected to.
    pub(crate) fn server(&self) -> &Server {
        self.pipe.server()
    }
}

/// From this many bytes of pending output on, nothing is added.
const MOST_OUTPUT: usize = 256 * 1024;

/// From this many unconfirmed messages on, none is added.
const MOST_UNCONFIRMED: u64 = 8192;

/// From this many unanswered requests on, nothing is requested; at twice as many the server counts as silent.
const MOST_UNANSWERED: usize = 65_536;
