//! The event loop: serves all events of epoll, then writes the output of each changed connection
//! once.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use millrace_load::sys::{self, Epoll, Events, Interest};

use super::client::{Client, Stage};
use super::handlers::{Channels, Clients, Kind};
use super::wire;

#[derive(Debug)]
pub(crate) struct Server {
    kind: Kind,
    epoll: Epoll,
    listener: TcpListener,
    clients: Clients,
    free: Vec<usize>,
    channels: Channels,
}

const LISTENER: usize = usize::MAX;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Server {
    pub(crate) fn bind(kind: Kind) -> io::Result<Self> {
        sys::raise_descriptor_limit()?;
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        socket.listen(4096)?;
        let listener: TcpListener = socket.into();
        let epoll = Epoll::new()?;
        epoll.add(&listener, LISTENER, Interest::READ)?;
        Ok(Self {
            kind,
            epoll,
            listener,
            clients: Clients::default(),
            free: Vec::new(),
            channels: Channels::default(),
        })
    }

    pub(crate) fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; 512 * 1024];
        loop {
            self.epoll.wait(&mut events, Duration::from_secs(1))?;
            for ready in events.iter() {
                if ready.token == LISTENER {
                    self.accept()?;
                    continue;
                }
                if ready.write {
                    self.flush(ready.token)?;
                }
                if ready.read || ready.over {
                    self.read(ready.token, &mut scratch);
                }
            }
            let mut touched = mem::take(&mut self.clients.touched);
            for id in touched.drain(..) {
                self.flush(id)?;
            }
            self.clients.touched = touched;
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let id = self.free.pop().unwrap_or(self.clients.all.len());
            self.epoll.add(&stream, id, Interest::READ)?;
            if id == self.clients.all.len() {
                self.clients.all.push(None);
            }
            self.clients.all[id] = Some(Client::new(stream));
        }
        Ok(())
    }

    fn read(&mut self, id: usize, scratch: &mut [u8]) {
        let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) else {
            return;
        };
        let Some(filled) = client.read(scratch) else {
            return self.end(id);
        };
        let mut start = 0;
        if client.stage == Stage::Handshaking && filled > 0 {
            let Some((answer, used)) = wire::answer(&scratch[..filled]) else {
                client.partial.extend_from_slice(&scratch[..filled]);
                return;
            };
            client.stage = Stage::Open;
            client.out.extend_from_slice(answer.as_bytes());
            client.touched = true;
            self.clients.touched.push(id);
            start = used;
        }
        while let Some((opcode, range)) = wire::take(&mut scratch[start..filled]) {
            let payload = &scratch[start..filled][range.clone()];
            start += range.end;
            match opcode {
                CLOSE => {
                    self.clients.queue(id, CLOSE, &[payload]);
                    if let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) {
                        client.stage = Stage::Closing;
                    }
                }
                PING => self.clients.queue(id, PONG, &[payload]),
                PONG => {}
                _ => {
                    self.channels
                        .handle(self.kind, &mut self.clients, id, opcode, payload);
                }
            }
        }
        if start < filled
            && let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut)
        {
            client.partial.extend_from_slice(&scratch[start..filled]);
        }
    }

    fn flush(&mut self, id: usize) -> io::Result<()> {
        let Some(client) = self.clients.all.get_mut(id).and_then(Option::as_mut) else {
            return Ok(());
        };
        client.touched = false;
        let over = !client.flush() || (client.stage == Stage::Closing && client.out.is_empty());
        if over {
            self.end(id);
            return Ok(());
        }
        let waits = !client.out.is_empty();
        if mem::replace(&mut client.waits_for_room, waits) != waits {
            let interest = Interest {
                read: true,
                write: waits,
            };
            self.epoll.change(&client.stream, id, interest)?;
        }
        Ok(())
    }

    fn end(&mut self, id: usize) {
        if let Some(client) = self.clients.all.get_mut(id).and_then(Option::take) {
            self.channels.leave(self.kind, &client, id);
            self.free.push(id);
        }
    }
}
