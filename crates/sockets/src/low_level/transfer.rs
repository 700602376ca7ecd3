//! Sending and receiving bytes. Never raises `SIGPIPE`.
#![expect(
    unsafe_code,
    reason = "received bytes are written to uninitialised memory"
)]

use std::io;
use std::mem::MaybeUninit;

use rustix::event::PollFlags;
use socket2::{SockAddr, Socket};

use super::address::Place;
use super::fault::Fault;
use super::table::{Descriptor, Table};
use super::wait::{Slice, Turn};

impl Table {
    /// `send`, or `sendto` if there is an address. A stream that waits sends all bytes. [`Turn::Waiting`] comes with
    /// the number of bytes sent so far, which must not be given again.
    pub fn send(
        &self,
        number: u32,
        bytes: &[u8],
        flags: i32,
        to: Option<(&str, u16)>,
    ) -> Result<(Turn<()>, usize), Fault> {
        let mut slice = Slice::new();
        let descriptor = self.get(number)?;
        let socket = descriptor.as_socket()?;
        let family = descriptor.family()?;
        let to = to
            .map(|(address, port)| family.other(address, port))
            .transpose()?;
        let flags = flags & !DELAYED | NO_SIGNAL;
        let mut sent = 0;
        loop {
            let rest = bytes.get(sent..).unwrap_or_default();
            let outcome = match &to {
                Some(address) => socket.send_to_with_flags(rest, address, flags),
                None => socket.send_with_flags(rest, flags),
            };
            match outcome {
                Ok(count) => {
                    sent += count;
                    let over = sent >= bytes.len() || count == 0 || !descriptor.is_stream();
                    if over || !waits(&descriptor, flags) {
                        return Ok((Turn::Done(()), sent));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    // returns the bytes sent; the next call reports the error
                    return if sent > 0 {
                        Ok((Turn::Done(()), sent))
                    } else {
                        Err(error.into())
                    };
                }
                Err(_) if !waits(&descriptor, flags) => return Ok((Turn::WouldBlock, sent)),
                Err(_) => {
                    if !slice.wait(&descriptor, PollFlags::OUT)? {
                        return Ok((Turn::Waiting, sent));
                    }
                }
            }
        }
    }

    /// `recv`. Appends at most `most` bytes to `room`.
    pub fn receive(
        &self,
        number: u32,
        room: &mut Vec<u8>,
        most: usize,
        flags: i32,
    ) -> Result<Turn<()>, Fault> {
        self.take_in(number, (room, most), flags, |socket, spare, flags| {
            Ok((socket.recv_with_flags(spare, flags)?, ()))
        })
    }

    /// `recvfrom`. Does the same as [`receive`](Self::receive) and returns the sender's address. A stream has none.
    pub fn receive_from(
        &self,
        number: u32,
        room: &mut Vec<u8>,
        most: usize,
        flags: i32,
    ) -> Result<Turn<Place>, Fault> {
        self.take_in(number, (room, most), flags, |socket, spare, flags| {
            let (count, from) = socket.recv_from_with_flags(spare, flags)?;
            Ok((count, place_of(&from)))
        })
    }

    fn take_in<T>(
        &self,
        number: u32,
        (room, most): (&mut Vec<u8>, usize),
        flags: i32,
        take: impl Fn(&Socket, &mut [MaybeUninit<u8>], i32) -> io::Result<(usize, T)>,
    ) -> Result<Turn<T>, Fault> {
        let mut slice = Slice::new();
        let descriptor = self.get(number)?;
        let socket = descriptor.as_socket()?;
        // with this flag a stream would report bytes that it has discarded, not written
        let flags = flags & !libc::MSG_TRUNC;
        room.reserve(most);
        loop {
            let spare = room.spare_capacity_mut();
            let most = most.min(spare.len());
            let spare = spare.get_mut(..most).unwrap_or_default();
            match take(&socket, spare, flags) {
                Ok((count, told)) => {
                    let count = count.min(most);
                    // SAFETY: the system has written `count` bytes after the length, within the capacity.
                    unsafe { room.set_len(room.len() + count) };
                    return Ok(Turn::Done(told));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
                Err(_) if !waits(&descriptor, flags) => return Ok(Turn::WouldBlock),
                Err(_) => {
                    if !slice.wait(&descriptor, PollFlags::IN)? {
                        return Ok(Turn::Waiting);
                    }
                }
            }
        }
    }
}

fn place_of(from: &SockAddr) -> Place {
    // for a stream the system returns no address
    if from.len() == 0 {
        return Place::default();
    }
    Place::of(from)
}

fn waits(descriptor: &Descriptor, flags: i32) -> bool {
    !descriptor.returns_at_once() && flags & AT_ONCE == 0
}

/// Calls with one of these flags do not wait.
#[cfg(target_os = "linux")]
const AT_ONCE: i32 = libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE;
#[cfg(not(target_os = "linux"))]
const AT_ONCE: i32 = libc::MSG_DONTWAIT;

/// Sends with one of these flags read the bytes after the call has returned.
#[cfg(target_os = "linux")]
const DELAYED: i32 = libc::MSG_ZEROCOPY;
#[cfg(not(target_os = "linux"))]
const DELAYED: i32 = 0;

/// Systems without this flag have an option, which is set for every socket here.
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: i32 = libc::MSG_NOSIGNAL;
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: i32 = 0;
