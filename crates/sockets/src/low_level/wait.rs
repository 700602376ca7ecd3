//! Waiting in slices: for one descriptor, and `poll` for many. A call that would block waits for at most one slice and
//! then returns, and its caller repeats the call unless its thread must do something else.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::fault::Fault;
use super::table::{Descriptor, Table};

/// The result of a call that may block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<T> {
    /// The call is complete.
    Done(T),
    /// The call would block, and the descriptor does not wait.
    WouldBlock,
    /// The slice has ended: call again.
    Waiting,
}

/// One slice of waiting.
#[derive(Debug)]
pub(super) struct Slice {
    end: Instant,
    looked: bool,
}

impl Slice {
    pub(super) fn new() -> Self {
        Self {
            end: Instant::now() + SLICE,
            looked: false,
        }
    }

    /// Waits for one of `events` or an error. Returns false if the slice has ended. Must be called when a call would
    /// have blocked.
    pub(super) fn wait(&mut self, on: &Descriptor, events: PollFlags) -> Result<bool, Fault> {
        if self.looked {
            // it was reported ready but was not: another call was faster, or it is ready for another kind of call
            self.nap(NAP);
        }
        self.looked = true;
        let mut one = [PollFd::new(on, events)];
        Ok(poll_until(&mut one, self.end)? > 0)
    }

    /// Sleeps for this time. Returns false if the slice has ended.
    pub(super) fn nap(&self, time: Duration) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        thread::sleep(time.min(left));
        left > time
    }
}

impl Table {
    /// Waits at most `millis`, or without end if that is negative, for one of the events at one of the descriptors.
    /// Writes the events that occurred into `entries`. Returns [`Turn::Waiting`] if a slice has ended and time is left.
    pub fn poll(&self, entries: &mut [(u32, i16)], millis: i32) -> Result<Turn<()>, Fault> {
        let (time, whole) = slice_of(millis);
        let held: Result<Vec<Arc<Descriptor>>, Fault> = entries
            .iter()
            .map(|(number, _)| self.get(*number))
            .collect();
        let held = held?;
        let mut all: Vec<PollFd<'_>> = held
            .iter()
            .zip(entries.iter())
            .map(|(descriptor, (_, events))| {
                PollFd::from_borrowed_fd(descriptor.as_fd(), flags_of(*events))
            })
            .collect();
        let ready = poll_until(&mut all, Instant::now() + time)?;
        for ((_, events), polled) in entries.iter_mut().zip(&all) {
            // the type is signed on some systems
            *events = i16::from_ne_bytes(polled.revents().bits().to_ne_bytes());
        }
        Ok(if ready > 0 || whole {
            Turn::Done(())
        } else {
            Turn::Waiting
        })
    }
}

fn flags_of(events: i16) -> PollFlags {
    #[cfg(target_os = "linux")]
    let events = events.cast_unsigned();
    PollFlags::from_bits_retain(events)
}

/// How long to wait now, and whether that is the whole time.
pub(super) fn slice_of(millis: i32) -> (Duration, bool) {
    let asked = u64::try_from(millis).ok().map(Duration::from_millis);
    match asked {
        Some(asked) if asked <= SLICE => (asked, true),
        _ => (SLICE, false),
    }
}

/// The time until `end`, rounded up to whole milliseconds, because some systems have no finer resolution.
pub(super) fn left_until(end: Instant) -> Timespec {
    let left = end.saturating_duration_since(Instant::now());
    let millis = left.as_nanos().div_ceil(1_000_000);
    let millis = u64::try_from(millis).unwrap_or(u64::MAX);
    let time = Duration::from_millis(millis);
    Timespec::try_from(time).unwrap_or(Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    })
}

fn poll_until(entries: &mut [PollFd<'_>], end: Instant) -> Result<usize, Fault> {
    loop {
        match poll(entries, Some(&left_until(end))) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// The longest time until a blocked call notices that its descriptor is closed or its thread must end.
pub(super) const SLICE: Duration = Duration::from_millis(50);

/// The time between two attempts if no event tells when to try again.
pub(super) const NAP: Duration = Duration::from_millis(1);
