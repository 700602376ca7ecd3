//! The event loop: opens connections, performs handshakes, splits the stream into frames, answers
//! pings and closes, and passes messages to a scenario; or passes on the bytes of bare connections,
//! without handshakes and frames. It never measures and never checks contents. Over 400 lines because
//! the loop and what it does with a frame share one state.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub use crate::conn::Connect;
use crate::conn::{Conn, Incoming, Stage};
use crate::dialect::{Dialect, Said};
use crate::failure::{Doing, Failure};
use crate::frame::{self, Frame};
pub use crate::handler::{Ending, Handler};
use crate::handshake;
use crate::inflating::Inflating;
use crate::stamp;
use crate::sys::{Epoll, Events, Ready};
use crate::tls::Trust;

/// All connections of a run and the loop that serves them.
#[derive(Debug)]
pub struct Io {
    epoll: Epoll,
    events: Events,
    scratch: Box<[u8]>,
    target: SocketAddr,
    dialect: Dialect,
    /// The request that opens a connection; `None` for bare ones.
    request: Option<Vec<u8>>,
    /// TLS, with these certificates; `None` without.
    trust: Option<Trust>,
    /// Inflates messages, if compression is negotiated.
    inflating: Option<Inflating>,
    conns: Vec<Option<Conn>>,
    open: usize,
    begun: Instant,
    now: u64,
    reads: u64,
    control: Vec<u8>,
}

/// The mask of frames that are built when needed: closes and pongs.
const CONTROL_KEY: [u8; 4] = [0x5a, 0xc3, 0x96, 0x3c];
/// The size of the shared read buffer, which is also the largest frame that can be received.
const SCRATCH: usize = 256 * 1024;
/// The most events taken from epoll at a time.
const EVENTS: usize = 512;

impl Io {
    /// A loop without connections, for a server at `target`.
    pub fn new(target: SocketAddr) -> Result<Self, Failure> {
        Self::speaking(Dialect::Plain, target)
    }

    /// A loop whose connections have no handshake and no frames.
    pub fn bare(target: SocketAddr) -> Result<Self, Failure> {
        Ok(Self {
            request: None,
            ..Self::new(target)?
        })
    }

    /// Makes a loop for a dialect.
    pub fn speaking(dialect: Dialect, target: SocketAddr) -> Result<Self, Failure> {
        Ok(Self {
            epoll: Epoll::new().doing("creating the epoll instance")?,
            events: Events::with_capacity(EVENTS),
            scratch: vec![0; SCRATCH].into_boxed_slice(),
            target,
            dialect,
            request: Some(handshake::request(target, dialect.path(), false)),
            trust: None,
            inflating: None,
            conns: Vec::new(),
            open: 0,
            begun: Instant::now(),
            now: 0,
            reads: 0,
            control: Vec::new(),
        })
    }

    /// The same loop, with connections over TLS.
    #[must_use]
    pub fn over_tls(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// The same loop, with connections on which the server may compress messages.
    #[must_use]
    pub fn with_compression(mut self) -> Self {
        self.inflating = Some(Inflating::new());
        self.request = Some(handshake::request(self.target, self.dialect.path(), true));
        self
    }

    /// Where the server is.
    pub fn target(&self) -> SocketAddr {
        self.target
    }

    /// The dialect inside the messages.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Starts a connection under an id that is not in use.
    pub fn open(&mut self, id: usize, how: Connect) -> Result<(), Failure> {
        if id >= self.conns.len() {
            self.conns.resize_with(id + 1, || None);
        }
        let trust = self.trust.as_ref();
        let conn = Conn::start(self.target, how, trust).doing("connecting")?;
        self.conns[id] = Some(conn);
        self.watch(id)
    }

    /// Ends a connection at once, without a close frame.
    pub fn drop_connection(&mut self, id: usize) {
        if let Some(conn) = self.conns.get_mut(id).and_then(Option::take)
            && conn.stage == Stage::Open
        {
            self.open -= 1;
        }
    }

    /// Sends bytes that are already framed and masked.
    #[inline]
    pub fn send(&mut self, id: usize, frames: &[u8]) -> Result<(), Failure> {
        let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) else {
            return Ok(());
        };
        conn.write(frames).doing("writing")?;
        if conn.blocked() {
            self.watch(id)
        } else {
            Ok(())
        }
    }

    /// Frames, masks and sends a message of the application. For preparation, not for measurements.
    pub fn say(&mut self, id: usize, message: &[u8]) -> Result<(), Failure> {
        let (text, _) = self.dialect.wrap(message);
        let mut bytes = Vec::new();
        frame::put_masked(frame::TEXT, &text, stamp::mask(id), &mut bytes);
        self.send(id, &bytes)
    }

    /// Sends a close frame; the server is expected to echo it and to end the connection.
    pub fn close(&mut self, id: usize, code: u16) -> Result<(), Failure> {
        if let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) {
            conn.close_sent = true;
            self.send_control(id, frame::CLOSE, &code.to_be_bytes())?;
        }
        Ok(())
    }

    /// Stops or resumes reading a connection.
    pub fn set_reading(&mut self, id: usize, reading: bool) -> Result<(), Failure> {
        if let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) {
            conn.reading = reading;
            self.watch(id)?;
        }
        Ok(())
    }

    /// Whether bytes sent on this connection still wait for room in its socket.
    pub fn blocked(&self, id: usize) -> bool {
        let conn = self.conns.get(id).and_then(Option::as_ref);
        conn.is_some_and(Conn::blocked)
    }

    /// Whether the connection exists and its handshake is incomplete.
    pub fn connecting(&self, id: usize) -> bool {
        self.stage(id).is_some_and(|stage| stage != Stage::Open)
    }

    /// The number of connections with a complete handshake that have not ended.
    pub fn open_connections(&self) -> usize {
        self.open
    }

    /// Nanoseconds since the loop was made, at the time of the last read.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The number of reads so far; messages per read show how the server batches.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Reads the clock.
    #[inline]
    pub fn refresh(&mut self) -> u64 {
        self.now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.now
    }

    /// Waits for events, at most `wait`, and serves them.
    pub fn turn<H: Handler>(&mut self, handler: &mut H, wait: Duration) -> Result<(), Failure> {
        let mut events = mem::replace(&mut self.events, Events::with_capacity(0));
        let mut scratch = mem::take(&mut self.scratch);
        self.epoll.wait(&mut events, wait).doing("waiting")?;
        self.refresh();
        let outcome = events
            .iter()
            .try_for_each(|ready| self.serve(handler, ready, &mut scratch));
        self.events = events;
        self.scratch = scratch;
        outcome
    }

    fn serve<H: Handler>(
        &mut self,
        handler: &mut H,
        ready: Ready,
        scratch: &mut [u8],
    ) -> Result<(), Failure> {
        let id = ready.token;
        let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) else {
            return Ok(());
        };
        if conn.stage == Stage::Connecting {
            if let Some(error) = conn.stream.take_error().doing("connecting")? {
                self.drop_connection(id);
                let doing = "connecting";
                return handler.refused(self, id, Failure::System { doing, error });
            }
            let Some(request) = &self.request else {
                self.set_open(id);
                self.watch(id)?;
                return handler.opened(self, id);
            };
            conn.stage = Stage::Handshaking;
            conn.write(request).doing("writing the handshake")?;
            return self.watch(id);
        }
        if !conn.reading && ready.over {
            return self.unwatch(id);
        }
        if ready.write && conn.blocked() {
            conn.flush().doing("writing")?;
            if !conn.blocked() {
                self.watch(id)?;
            }
        }
        if ready.read || ready.over {
            self.read(handler, id, scratch)?;
        }
        Ok(())
    }

    fn read<H: Handler>(
        &mut self,
        handler: &mut H,
        id: usize,
        scratch: &mut [u8],
    ) -> Result<(), Failure> {
        let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) else {
            return Ok(());
        };
        let incoming = conn.read(scratch);
        if conn.speaks_tls() {
            self.watch(id)?;
        }
        let filled = match incoming {
            Incoming::Bytes(filled) => filled,
            Incoming::Later => return Ok(()),
            Incoming::End => return self.ended(handler, id),
            Incoming::Failed(error) => return Err(error).doing("reading"),
        };
        self.reads += 1;
        self.refresh();
        let mut rest = &scratch[..filled];
        if self.request.is_none() {
            let used = handler.bytes(self, id, rest)?;
            self.keep(id, &rest[used..])?;
            return handler.read_done(self, id);
        }
        if self.stage(id) == Some(Stage::Handshaking) {
            let used = match handshake::answer(rest, self.inflating.is_some()) {
                Ok(Some(used)) => used,
                Ok(None) => return self.keep(id, rest),
                Err(failure) => {
                    self.drop_connection(id);
                    return handler.refused(self, id, failure);
                }
            };
            rest = &rest[used..];
            if self.dialect.greets() {
                self.set_stage(id, Stage::Joining);
            } else {
                self.set_open(id);
                handler.opened(self, id)?;
            }
        }
        while let Some((frame, used)) = frame::take(rest, self.inflating.is_some())? {
            rest = &rest[used..];
            match frame.opcode {
                frame::TEXT if frame.compressed => {
                    self.hear_compressed(handler, id, frame.payload)?;
                }
                frame::TEXT => self.hear(handler, id, frame.payload)?,
                frame::BINARY => handler.binary(self, id, frame.payload)?,
                _ => self.answer_control(id, frame)?,
            }
        }
        self.keep(id, rest)?;
        handler.read_done(self, id)
    }

    #[inline]
    fn hear<H: Handler>(&mut self, handler: &mut H, id: usize, text: &[u8]) -> Result<(), Failure> {
        match self.dialect.hear(text)? {
            Said::Message(message) if self.stage(id) == Some(Stage::Open) => {
                handler.message(self, id, message)
            }
            Said::Answer(answer) => self.send_control(id, frame::TEXT, answer),
            Said::Joined if self.stage(id) == Some(Stage::Joining) => {
                self.set_open(id);
                handler.opened(self, id)
            }
            Said::Message(_) | Said::Joined => Err(Failure::Violation(format!(
                "connection {id} joined twice, or got a message before it had joined"
            ))),
        }
    }

    fn hear_compressed<H: Handler>(
        &mut self,
        handler: &mut H,
        id: usize,
        compressed: &[u8],
    ) -> Result<(), Failure> {
        let Some(mut inflating) = self.inflating.take() else {
            return Ok(());
        };
        let outcome = match inflating.text(compressed) {
            Ok(text) => self.hear(handler, id, text),
            Err(failure) => Err(failure),
        };
        self.inflating = Some(inflating);
        outcome
    }

    fn ended<H: Handler>(&mut self, handler: &mut H, id: usize) -> Result<(), Failure> {
        let Some(conn) = self.conns.get_mut(id).and_then(Option::take) else {
            return Ok(());
        };
        if conn.stage != Stage::Open {
            let what = "a connection ended during its handshake".to_owned();
            return handler.refused(self, id, Failure::Violation(what));
        }
        self.open -= 1;
        let ending = conn.code.map_or(Ending::Cut, Ending::Closed);
        drop(conn);
        handler.closed(self, id, ending)
    }

    fn answer_control(&mut self, id: usize, frame: Frame<'_>) -> Result<(), Failure> {
        match frame.opcode {
            frame::PING => self.send_control(id, frame::PONG, frame.payload),
            frame::PONG => Ok(()),
            frame::CLOSE => {
                let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) else {
                    return Ok(());
                };
                conn.code = Some(frame::close_code(frame.payload));
                if mem::replace(&mut conn.close_sent, true) {
                    return Ok(());
                }
                self.send_control(id, frame::CLOSE, frame.payload)
            }
            other => Err(Failure::Violation(format!(
                "connection {id} got a frame of opcode {other}"
            ))),
        }
    }

    fn send_control(&mut self, id: usize, opcode: u8, payload: &[u8]) -> Result<(), Failure> {
        let mut bytes = mem::take(&mut self.control);
        bytes.clear();
        frame::put_masked(opcode, payload, CONTROL_KEY, &mut bytes);
        let sent = self.send(id, &bytes);
        self.control = bytes;
        sent
    }

    fn keep(&mut self, id: usize, rest: &[u8]) -> Result<(), Failure> {
        if rest.len() >= SCRATCH {
            return Err(Failure::Violation("a frame over 256 KiB".to_owned()));
        }
        if !rest.is_empty()
            && let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut)
        {
            conn.partial.extend_from_slice(rest);
        }
        Ok(())
    }

    fn stage(&self, id: usize) -> Option<Stage> {
        let conn = self.conns.get(id).and_then(Option::as_ref);
        conn.map(|conn| conn.stage)
    }

    fn set_stage(&mut self, id: usize, stage: Stage) {
        if let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) {
            conn.stage = stage;
        }
    }

    fn set_open(&mut self, id: usize) {
        self.set_stage(id, Stage::Open);
        self.open += 1;
    }

    /// Tells epoll which events the connection needs, if that has changed.
    fn watch(&mut self, id: usize) -> Result<(), Failure> {
        let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut) else {
            return Ok(());
        };
        let wanted = conn.wanted();
        let told: io::Result<()> = match conn.watched.replace(wanted) {
            Some(before) if before == wanted => Ok(()),
            Some(_) => self.epoll.change(&conn.stream, id, wanted),
            None => self.epoll.add(&conn.stream, id, wanted),
        };
        told.doing("watching a connection")
    }

    /// Removes a connection from epoll until it is read again: epoll would report an ended
    /// connection repeatedly.
    fn unwatch(&mut self, id: usize) -> Result<(), Failure> {
        if let Some(conn) = self.conns.get_mut(id).and_then(Option::as_mut)
            && conn.watched.take().is_some()
        {
            self.epoll
                .remove(&conn.stream)
                .doing("watching a connection")?;
        }
        Ok(())
    }
}
