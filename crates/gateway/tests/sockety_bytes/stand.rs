//! A gateway, peers that send bytes to it, and a bystander: another connection, which must not be affected.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use millrace_gateway::{ListenerConfig, Options, SocketId};
use millrace_protocol::sockety::Id;

use crate::account::{Account, Accounts};
use crate::support::manual::{Manual, eventually, manual};
use crate::support::sockety::{Client, Heard, fast_reply, server_with, told};
use crate::support::tcp::QUIET;
use crate::support::{SOON, Server};

const ID: Id = Id::new([3; 16]);

/// See the module.
pub(crate) struct Stand {
    server: Server,
    worker: Manual,
    bystander: Client,
    socket: SocketId,
    /// The gateway's header.
    header: &'static [u8],
}

impl Stand {
    pub(crate) fn new() -> Self {
        Self::with(Options::new(), &[0xe3], |_| {})
    }

    pub(crate) fn with(
        options: Options,
        header: &'static [u8],
        change: impl FnOnce(&mut ListenerConfig),
    ) -> Self {
        let server = server_with(options, change);
        let worker = manual(&server.gateway, QUIET);
        let bystander = Client::connect_to(&server, header);
        let socket = worker.opened();
        Self {
            server,
            worker,
            bystander,
            socket,
            header,
        }
    }

    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_nodelay(true).unwrap();
        // the header has to be read before, because a reset connection loses unread bytes
        let mut header = vec![0; self.header.len()];
        stream.read_exact(&mut header).unwrap();
        assert_eq!(header, self.header);
        stream
    }

    fn bytes_in(&self) -> u64 {
        self.server.gateway.stats().traffic.bytes_in
    }

    /// Sends bytes at once and nothing more.
    pub(crate) fn send(&mut self, wire: &[u8]) -> Account {
        let mut accounts = self.send_each(&[wire]);
        accounts.pop().unwrap()
    }

    /// Sends each of these on a connection of its own, and nothing more; returns the accounts in the order in which the
    /// connections end.
    pub(crate) fn send_each(&mut self, wires: &[&[u8]]) -> Vec<Account> {
        let mut streams: Vec<_> = wires.iter().map(|_| self.connect()).collect();
        for (stream, wire) in streams.iter_mut().zip(wires) {
            let _closed = stream.write_all(wire);
            finish(stream);
        }
        self.ends(streams)
    }

    /// Sends each of these on a connection of its own and waits for the close without ending the stream; returns the
    /// accounts in the order of the closes.
    pub(crate) fn provoke(&mut self, wires: &[&[u8]]) -> Vec<Account> {
        let mut streams: Vec<_> = wires.iter().map(|_| self.connect()).collect();
        for (stream, wire) in streams.iter_mut().zip(wires) {
            // bytes after the invalid ones may be refused
            let _closed = stream.write_all(wire);
        }
        self.ends(streams)
    }

    /// Sends the same bytes on many connections, cut at a different place on each. The second halves follow once all
    /// first halves are read.
    pub(crate) fn send_cut(&mut self, wire: &[u8]) -> Vec<Account> {
        let mut streams: Vec<_> = (1..wire.len()).map(|_| self.connect()).collect();
        let before = self.bytes_in();
        let mut sent = 0;
        for (stream, cut) in streams.iter_mut().zip(1..) {
            stream.write_all(&wire[..cut]).unwrap();
            sent += u64::try_from(cut).unwrap();
        }
        assert!(eventually(|| self.bytes_in() == before + sent));
        for (stream, cut) in streams.iter_mut().zip(1..) {
            // a connection with invalid bytes in its first half may be closed
            let _closed = stream.write_all(&wire[cut..]);
            finish(stream);
        }
        self.ends(streams)
    }

    /// Sends each of these on a connection of its own, byte by byte, each byte once the previous one of all connections
    /// is read, and then nothing more. Returns the accounts in the order in which the connections end. No input may be
    /// invalid before its last byte.
    pub(crate) fn send_slowly(&mut self, wires: &[&[u8]]) -> Vec<Account> {
        let mut streams: Vec<_> = wires.iter().map(|_| self.connect()).collect();
        let most = wires.iter().map(|wire| wire.len()).max();
        for at in 0..most.unwrap() {
            let before = self.bytes_in();
            let mut sent = 0;
            for (stream, wire) in streams.iter_mut().zip(wires) {
                if let Some(byte) = wire.get(at) {
                    stream.write_all(&[*byte]).unwrap();
                    sent += 1;
                }
            }
            assert!(eventually(|| self.bytes_in() == before + sent));
        }
        streams.iter().for_each(finish);
        self.ends(streams)
    }

    /// Takes the worker's events up to the closes, and asserts that the peers get their close and nothing else, and
    /// that the bystander is not affected.
    fn ends(&mut self, streams: Vec<TcpStream>) -> Vec<Account> {
        let accounts = Accounts::take(&self.worker, streams.len());
        for mut stream in streams {
            let mut rest = Vec::new();
            match stream.read_to_end(&mut rest) {
                // the gateway had not read everything
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
                end => assert_eq!(end.unwrap(), 0, "{rest:?}"),
            }
        }
        self.assert_untouched();
        accounts
    }

    /// Asserts that nothing is left of the other connections, and that the bystander's question is answered.
    fn assert_untouched(&mut self) {
        let stats = || self.server.gateway.stats();
        assert!(eventually(|| stats().connections == 1));
        assert_eq!((stats().inbound_bytes, stats().traffic.panics), (0, 0));
        self.bystander.send("alive", ID, b"data");
        let message = told(&self.worker.expect(1)[0]);
        assert_eq!(
            (&*message.action, &*message.payload),
            ("alive", &b"data"[..])
        );
        fast_reply(&self.worker, self.socket, ID, 9);
        assert_eq!(self.bystander.hear(), Some(Heard::FastReply(9, ID)));
    }
}

/// Ends the sending side; a connection that the gateway has closed has none to end.
fn finish(stream: &TcpStream) {
    let _closed = stream.shutdown(Shutdown::Write);
}
