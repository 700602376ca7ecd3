//! One client connection: its stream, unwritten bytes, and a partial frame. It knows neither scenarios
//! nor epoll; [`crate::io::Io`] drives it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::sys::{self, Interest};
use crate::tls::{Session, Trust};

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Connecting,
    Handshaking,
    /// The dialect's own greeting is in progress.
    Joining,
    Open,
}

/// How a connection is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Connect {
    /// The local address to connect from, because each address has its own ports; `None` for any.
    pub source: Option<Ipv4Addr>,
    /// `SO_RCVBUF` in bytes, together with segments of Ethernet's size: this simulates a distant client,
    /// for which the server's kernel does not buffer megabytes as it does on loopback. The system's
    /// default if `None`.
    pub receive_buffer: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) stream: TcpStream,
    pub(crate) stage: Stage,
    /// The events that epoll watches it for; `None` if epoll does not watch it.
    pub(crate) watched: Option<Interest>,
    pub(crate) reading: bool,
    /// The code of a close frame received.
    pub(crate) code: Option<u16>,
    pub(crate) close_sent: bool,
    pub(crate) partial: Vec<u8>,
    unsent: Vec<u8>,
    unsent_from: usize,
    tls: Option<Session>,
}

impl Conn {
    /// Starts to connect, over TLS if the server must have a certificate.
    pub(crate) fn start(
        target: SocketAddr,
        how: Connect,
        trust: Option<&Trust>,
    ) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(target), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        if let Some(bytes) = how.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
            socket.set_tcp_mss(ETHERNET)?;
        }
        if let Some(source) = how.source {
            sys::choose_port_late(&socket)?;
            socket.bind(&SocketAddr::from((source, 0)).into())?;
        }
        match socket.connect(&target.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Self {
            stream: socket.into(),
            stage: Stage::Connecting,
            watched: None,
            reading: true,
            code: None,
            close_sent: false,
            partial: Vec::new(),
            unsent: Vec::new(),
            unsent_from: 0,
            tls: trust
                .map(|trust| Session::new(trust, target.ip()))
                .transpose()?,
        })
    }

    /// The events that epoll should watch it for now.
    pub(crate) fn wanted(&self) -> Interest {
        let connecting = self.stage == Stage::Connecting;
        Interest {
            read: self.reading && !connecting,
            write: connecting || self.blocked(),
        }
    }

    /// Whether bytes wait for room in the socket.
    pub(crate) fn blocked(&self) -> bool {
        self.unsent_from < self.unsent.len() || self.tls.as_ref().is_some_and(Session::blocked)
    }

    /// Whether reading may leave something to write: an answer of TLS itself.
    pub(crate) fn speaks_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Writes bytes, and keeps those that the socket does not take.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.encrypt(bytes)?;
            return write_records(tls, &self.stream);
        }
        if self.blocked() {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let taken = write_some(&self.stream, bytes)?;
        if let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            self.unsent.clear();
            self.unsent_from = 0;
            self.unsent.extend_from_slice(rest);
        }
        Ok(())
    }

    /// Writes the kept bytes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            return write_records(tls, &self.stream);
        }
        while self.blocked() {
            let taken = write_some(&self.stream, &self.unsent[self.unsent_from..])?;
            if taken == 0 {
                return Ok(());
            }
            self.unsent_from += taken;
        }
        self.unsent.clear();
        self.unsent_from = 0;
        Ok(())
    }

    /// Reads into `scratch` after the partial frame kept from the last read. Returns how many bytes of
    /// `scratch` are valid, or why nothing was read.
    pub(crate) fn read(&mut self, scratch: &mut [u8]) -> Incoming {
        let kept = self.partial.len();
        scratch[..kept].copy_from_slice(&self.partial);
        if let Some(tls) = &mut self.tls {
            let incoming = match tls.read(&self.stream, &mut scratch[kept..]) {
                Ok(None) => return Incoming::End,
                Ok(Some(0)) => Incoming::Later,
                Ok(Some(count)) => {
                    self.partial.clear();
                    Incoming::Bytes(kept + count)
                }
                Err(error) if postponed(&error) => return Incoming::Later,
                Err(error) if cut(&error) => return Incoming::End,
                Err(error) => return Incoming::Failed(error),
            };
            return match write_records(tls, &self.stream) {
                Ok(()) => incoming,
                Err(error) => Incoming::Failed(error),
            };
        }
        match (&self.stream).read(&mut scratch[kept..]) {
            Ok(0) => Incoming::End,
            Ok(count) => {
                self.partial.clear();
                Incoming::Bytes(kept + count)
            }
            Err(error) if postponed(&error) => Incoming::Later,
            Err(error) if cut(&error) => Incoming::End,
            Err(error) => Incoming::Failed(error),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Incoming {
    Bytes(usize),
    Later,
    End,
    Failed(io::Error),
}

/// Writes once. A connection that is gone accepts everything: reading detects its end.
fn write_some(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match stream.write(bytes) {
        Err(error) if postponed(&error) => Ok(0),
        Err(error) if cut(&error) => Ok(bytes.len()),
        other => other,
    }
}

/// Writes records until the socket is full. A connection that is gone accepts everything, as above.
fn write_records(tls: &mut Session, stream: &TcpStream) -> io::Result<()> {
    while tls.blocked() {
        match tls.write(stream) {
            Ok(_) => {}
            Err(error) if postponed(&error) => return Ok(()),
            Err(error) if cut(&error) => tls.discard(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bytes of a TCP segment on Ethernet.
const ETHERNET: u32 = 1_460;

fn postponed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::NotConnected
    )
}
