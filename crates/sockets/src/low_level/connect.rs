//! Connections: accepting them, and opening them.

use std::io;
use std::time::Duration;

use rustix::event::PollFlags;

use super::address::{Family, Place};
use super::fault::Fault;
use super::table::{Descriptor, Table};
use super::wait::{Slice, Turn};

impl Table {
    /// `accept`, on behalf of the thread `owner`. The new descriptor waits, whether or not the old one does.
    pub fn accept(&self, owner: usize, number: u32) -> Result<Turn<(u32, Place)>, Fault> {
        let mut slice = Slice::new();
        let descriptor = self.get(number)?;
        let socket = descriptor.as_socket()?;
        loop {
            match socket.accept() {
                Ok((accepted, address)) => {
                    let accepted = Descriptor::socket(
                        owner,
                        accepted,
                        descriptor.family()?,
                        descriptor.is_stream(),
                    )?;
                    return Ok(Turn::Done((self.add(accepted)?, Place::of(&address))));
                }
                Err(error) => match error.raw_os_error() {
                    // a peer that has disconnected before it was accepted is skipped
                    Some(libc::EINTR | libc::ECONNABORTED) => {}
                    _ if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
                    _ if descriptor.returns_at_once() => return Ok(Turn::WouldBlock),
                    _ => {
                        if !slice.wait(&descriptor, PollFlags::IN)? {
                            return Ok(Turn::Waiting);
                        }
                    }
                },
            }
        }
    }

    /// `connect`. Returns [`Turn::WouldBlock`] if the connection is in progress and the descriptor does not wait.
    /// After [`Turn::Waiting`] the next call sets `again`.
    pub fn connect(
        &self,
        number: u32,
        address: &str,
        port: u16,
        again: bool,
    ) -> Result<Turn<()>, Fault> {
        let mut slice = Slice::new();
        let descriptor = self.get(number)?;
        let family = descriptor.family()?;
        let peer = family.other(address, port)?;
        let socket = descriptor.as_socket()?;
        // a unix socket whose listener is too slow is not in progress and must be tried again
        if again && family != Family::Unix {
            return connected(&descriptor, &mut slice);
        }
        loop {
            let Err(error) = socket.connect(&peer) else {
                return Ok(Turn::Done(()));
            };
            let waits = !descriptor.returns_at_once();
            match error.raw_os_error() {
                // a signal does not interrupt the connection attempt
                Some(libc::EINPROGRESS | libc::EINTR) if waits => {
                    return connected(&descriptor, &mut slice);
                }
                Some(libc::EINPROGRESS | libc::EINTR) => return Ok(Turn::WouldBlock),
                Some(libc::EAGAIN) if family == Family::Unix && waits => {
                    if !slice.nap(RETRY) {
                        return Ok(Turn::Waiting);
                    }
                }
                _ => return Err(error.into()),
            }
        }
    }
}

/// Waits until a connection attempt succeeds or fails.
fn connected(descriptor: &Descriptor, slice: &mut Slice) -> Result<Turn<()>, Fault> {
    if !slice.wait(descriptor, PollFlags::OUT)? {
        return Ok(Turn::Waiting);
    }
    match descriptor.as_socket()?.take_error()? {
        Some(error) => Err(error.into()),
        None => Ok(Turn::Done(())),
    }
}

/// The time between two attempts to connect to a unix socket whose queue is full: the system does not tell when it has
/// room.
const RETRY: Duration = Duration::from_millis(5);
