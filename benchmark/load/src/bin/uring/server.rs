//! The loop over the ring: takes all that is done, then submits the output of each changed connection with the next wait.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use millrace_load::ring::{Data, Done, Ring};
use millrace_load::sys;

use super::client::{Client, Stage};
use super::handlers::{Channels, Clients, Kind};
use super::wire;

#[derive(Debug)]
pub(crate) struct Server {
    kind: Kind,
    ring: Ring,
    listener: TcpListener,
    clients: Clients,
    /// Whether a send of the connection is in progress, and its buffer when it is not.
    sends: Vec<Option<Vec<u8>>>,
    /// Connections that are gone for us, of which the ring still has a send or a receive.
    leaving: Vec<bool>,
    free: Vec<usize>,
    channels: Channels,
    scratch: Vec<u8>,
}

const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Server {
    pub(crate) fn bind(kind: Kind) -> io::Result<Self> {
        sys::raise_descriptor_limit()?;
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        socket.bind(&std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        socket.listen(4096)?;
        let listener: TcpListener = socket.into();
        let mut ring = Ring::new()?;
        ring.accept(&listener)?;
        Ok(Self {
            kind,
            ring,
            listener,
            clients: Clients::default(),
            sends: Vec::new(),
            leaving: Vec::new(),
            free: Vec::new(),
            channels: Channels::default(),
            scratch: Vec::new(),
        })
    }

    pub(crate) fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut done = Vec::new();
        loop {
            self.ring.wait(&mut done)?;
            for one in done.drain(..) {
                self.take(one)?;
            }
            let mut touched = mem::take(&mut self.clients.touched);
            for id in touched.drain(..) {
                self.flush(id)?;
            }
            self.clients.touched = touched;
        }
    }

    fn take(&mut self, done: Done) -> io::Result<()> {
        match done {
            Done::Accepted(socket) => self.accept(socket.into()),
            Done::Received {
                token,
                data,
                goes_on,
            } => {
                let id = index(token);
                match data {
                    Some(data) if data.is_nothing() => {}
                    Some(data) => self.received(id, &data),
                    None => {
                        self.end(id);
                        return Ok(());
                    }
                }
                if goes_on {
                    return Ok(());
                }
                if let Some(client) = self.clients.all.get(id).and_then(Option::as_ref) {
                    return self.ring.receive(&client.stream, token);
                }
                self.end(id);
                Ok(())
            }
            Done::Sent {
                token,
                mut buffer,
                count,
            } => {
                let id = index(token);
                let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) else {
                    return Ok(());
                };
                let Some(count) = count else {
                    self.end(id);
                    return Ok(());
                };
                drop(buffer.drain(..count));
                if !buffer.is_empty() {
                    buffer.append(&mut client.out);
                    mem::swap(&mut buffer, &mut client.out);
                }
                buffer.clear();
                self.sends[id] = Some(buffer);
                self.flush(id)
            }
        }
    }

    fn accept(&mut self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let id = self.free.pop().unwrap_or(self.clients.all.len());
        if id == self.clients.all.len() {
            self.clients.all.push(None);
            self.sends.push(None);
            self.leaving.push(false);
        }
        self.sends[id] = Some(Vec::new());
        self.leaving[id] = false;
        self.ring
            .receive(&stream, u32::try_from(id).unwrap_or(u32::MAX))?;
        self.clients.all[id] = Some(Client::new(stream));
        Ok(())
    }

    fn received(&mut self, id: usize, data: &Data) {
        let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) else {
            self.ring.give_back(data);
            return;
        };
        // a frame in one buffer is read where it lies
        if client.partial.is_empty() {
            let bytes = self.ring.data(data);
            let used = handle(
                self.kind,
                (&mut self.clients, &mut self.channels),
                id,
                bytes,
            );
            if let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) {
                client.partial.extend_from_slice(&bytes[used..]);
            }
        } else {
            mem::swap(&mut client.partial, &mut self.scratch);
            self.scratch.extend_from_slice(self.ring.data(data));
            let bytes = &mut self.scratch[..];
            let used = handle(
                self.kind,
                (&mut self.clients, &mut self.channels),
                id,
                bytes,
            );
            self.scratch.drain(..used);
            if let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) {
                mem::swap(&mut client.partial, &mut self.scratch);
            }
            self.scratch.clear();
        }
        self.ring.give_back(data);
    }

    fn flush(&mut self, id: usize) -> io::Result<()> {
        let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) else {
            return Ok(());
        };
        client.touched = false;
        let Some(mut buffer) = self.sends[id].take() else {
            return Ok(());
        };
        if client.out.is_empty() {
            let over = client.stage == Stage::Closing;
            self.sends[id] = Some(buffer);
            if over {
                client.stream.shutdown(std::net::Shutdown::Both)?;
            }
            return Ok(());
        }
        mem::swap(&mut buffer, &mut client.out);
        let token = u32::try_from(id).unwrap_or(u32::MAX);
        self.ring.send(&client.stream, token, buffer)
    }

    /// The receive of the connection has ended: nothing of the ring refers to its number any more but a send.
    fn end(&mut self, id: usize) {
        if mem::replace(&mut self.leaving[id], true) {
            return;
        }
        if let Some(client) = self.clients.all.get_mut(id).and_then(Option::take) {
            self.channels.leave(self.kind, &client, id);
            if self.sends[id].is_some() {
                self.free.push(id);
            }
        }
    }
}

/// Handles the whole frames at the front of `bytes`. Returns how many bytes they take.
fn handle(
    kind: Kind,
    (clients, channels): (&mut Clients, &mut Channels),
    id: usize,
    bytes: &mut [u8],
) -> usize {
    let mut start = 0;
    let handshaking = |clients: &Clients| {
        let client = clients.all.get(id).and_then(Option::as_ref);
        client.is_some_and(|client| client.stage == Stage::Handshaking)
    };
    if handshaking(clients) {
        let Some((answer, used)) = wire::answer(bytes) else {
            return 0;
        };
        if let Some(client) = clients.all.get_mut(id).and_then(Option::as_mut) {
            client.stage = Stage::Open;
            client.out.extend_from_slice(answer.as_bytes());
            client.touched = true;
        }
        clients.touched.push(id);
        start = used;
    }
    while let Some((opcode, range)) = wire::take(&mut bytes[start..]) {
        let payload = &bytes[start..][range.clone()];
        start += range.end;
        match opcode {
            CLOSE => {
                clients.queue(id, CLOSE, &[payload]);
                if let Some(client) = clients.all.get_mut(id).and_then(Option::as_mut) {
                    client.stage = Stage::Closing;
                }
            }
            PING => clients.queue(id, PONG, &[payload]),
            PONG => {}
            _ => channels.handle(kind, clients, id, opcode, payload),
        }
    }
    start
}

fn index(token: u32) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX)
}
