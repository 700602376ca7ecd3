//! Calls that never wait: creating sockets, binding them, and querying their state.

use std::net::Shutdown;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::address::{Family, Place};
use super::fault::Fault;
use super::table::{Descriptor, Table};

impl Table {
    /// `socket`, on behalf of the thread `owner`.
    pub fn socket(
        &self,
        owner: usize,
        domain: i32,
        kind: i32,
        protocol: i32,
    ) -> Result<u32, Fault> {
        let family = Family::of(domain).ok_or(Fault::System(libc::EAFNOSUPPORT))?;
        let wanted = (protocol != 0).then(|| Protocol::from(protocol));
        let socket = Socket::new(Domain::from(domain), Type::from(kind), wanted)?;
        let is_stream = socket.r#type()? == Type::STREAM;
        let descriptor = Descriptor::socket(owner, socket, family, is_stream)?;
        if asks_not_to_wait(kind) {
            descriptor.return_at_once();
        }
        self.add(descriptor)
    }

    /// `bind`. An empty address means all interfaces.
    pub fn bind(&self, number: u32, address: &str, port: u16) -> Result<(), Fault> {
        let descriptor = self.get(number)?;
        let address = descriptor.family()?.own(address, port)?;
        Ok(descriptor.as_socket()?.bind(&address)?)
    }

    /// `listen`.
    pub fn listen(&self, number: u32, backlog: i32) -> Result<(), Fault> {
        Ok(self.get(number)?.as_socket()?.listen(backlog)?)
    }

    /// `shutdown`.
    pub fn shutdown(&self, number: u32, how: i32) -> Result<(), Fault> {
        let descriptor = self.get(number)?;
        let socket = descriptor.as_socket()?;
        let how = match how {
            libc::SHUT_RD => Shutdown::Read,
            libc::SHUT_WR => Shutdown::Write,
            libc::SHUT_RDWR => Shutdown::Both,
            _ => return Err(Fault::System(libc::EINVAL)),
        };
        Ok(socket.shutdown(how)?)
    }

    /// Makes the descriptor's calls return at once.
    pub fn set_nonblocking(&self, number: u32) -> Result<(), Fault> {
        self.get(number)?.return_at_once();
        Ok(())
    }

    /// Whether its addresses have ports. Those of unix sockets have none.
    pub fn has_ports(&self, number: u32) -> bool {
        let family = self.get(number).and_then(|descriptor| descriptor.family());
        family != Ok(Family::Unix)
    }

    /// `getsockname`.
    pub fn own_address(&self, number: u32) -> Result<Place, Fault> {
        let descriptor = self.get(number)?;
        Ok(Place::of(&descriptor.as_socket()?.local_addr()?))
    }

    /// `getpeername`.
    pub fn peer_address(&self, number: u32) -> Result<Place, Fault> {
        let descriptor = self.get(number)?;
        Ok(Place::of(&descriptor.as_socket()?.peer_addr()?))
    }

    /// Whether it has a peer, is writable at this moment, and has no pending error.
    pub fn is_connected(&self, number: u32) -> Result<bool, Fault> {
        let descriptor = self.get(number)?;
        let socket = descriptor.as_socket()?;
        if socket.peer_addr().is_err() {
            return Ok(false);
        }
        let mut one = [PollFd::new(&*descriptor, PollFlags::OUT)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let ready = poll(&mut one, Some(&now)).unwrap_or(0);
        let writable = ready > 0 && one[0].revents().contains(PollFlags::OUT);
        Ok(writable && socket.take_error()?.is_none())
    }
}

/// Whether a socket's type contains the flag that makes calls return at once, where the system has
/// it.
fn asks_not_to_wait(kind: i32) -> bool {
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    return kind & libc::SOCK_NONBLOCK != 0;
    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    return kind < 0;
}
