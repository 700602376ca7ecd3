//! A gateway, peers that send bytes to it, and a connection beside them that has nothing to do with that.

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
    /// What the gateway says first.
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
        // what is not read yet would be lost with a connection that is reset
        let mut header = vec![0; self.header.len()];
        stream.read_exact(&mut header).unwrap();
        assert_eq!(header, self.header);
        stream
    }

    fn bytes_in(&self) -> u64 {
        self.server.gateway.stats().traffic.bytes_in
    }

    /// What is sent at once, and then nothing more.
    pub(crate) fn send(&mut self, wire: &[u8]) -> Account {
        let mut accounts = self.send_each(&[wire]);
        accounts.pop().unwrap()
    }

    /// What is sent on one connection each, and then nothing more; in the order of the ends.
    pub(crate) fn send_each(&mut self, wires: &[&[u8]]) -> Vec<Account> {
        let mut streams: Vec<_> = wires.iter().map(|_| self.connect()).collect();
        for (stream, wire) in streams.iter_mut().zip(wires) {
            let _closed = stream.write_all(wire);
            finish(stream);
        }
        self.ends(streams)
    }

    /// What is sent on one connection each, and is waited behind for the end; in the order of the ends.
    pub(crate) fn provoke(&mut self, wires: &[&[u8]]) -> Vec<Account> {
        let mut streams: Vec<_> = wires.iter().map(|_| self.connect()).collect();
        for (stream, wire) in streams.iter_mut().zip(wires) {
            // what lies behind the mistake need not be taken
            let _closed = stream.write_all(wire);
        }
        self.ends(streams)
    }

    /// The same bytes on many connections, cut at another place on each. The second half follows once every first is read.
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
            // one whose mistake has come may be closed
            let _closed = stream.write_all(&wire[cut..]);
            finish(stream);
        }
        self.ends(streams)
    }

    /// What is sent on one connection each, the next byte of each once the last of all is read, and then nothing more. In the
    /// order of the ends. None may have a mistake before its last byte.
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

    /// The worker learns of the ends, the peers see theirs and nothing else, and the bystander is untouched.
    fn ends(&mut self, streams: Vec<TcpStream>) -> Vec<Account> {
        let accounts = Accounts::take(&self.worker, streams.len());
        for mut stream in streams {
            let mut rest = Vec::new();
            match stream.read_to_end(&mut rest) {
                // where the gateway had not read everything
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
                end => assert_eq!(end.unwrap(), 0, "{rest:?}"),
            }
        }
        self.assert_untouched();
        accounts
    }

    /// Nothing is left of the others, and the bystander asks and is answered.
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

/// It sends nothing more; one that the gateway has closed has no side left to shut.
fn finish(stream: &TcpStream) {
    let _closed = stream.shutdown(Shutdown::Write);
}
