//! Many sends in one system call, by `io_uring` (Linux 5.6, best from 6.1). Owns the ring. A call returns when
//! every send has ended, so no buffer is borrowed for longer.
#![expect(unsafe_code, reason = "the kernel gets the addresses of buffers")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, types};

/// See the module. Must be used on the thread that made it.
pub struct SendRing {
    ring: IoUring,
    sent: Vec<Sent>,
    /// A call failed. Entries left in the queue must never be submitted.
    broken: bool,
}

/// The result of one send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel accepted so many bytes.
    Bytes(usize),
    /// The kernel accepted none. An ordinary send returns the reason, for example
    /// [`io::ErrorKind::WouldBlock`].
    Nothing,
}

impl std::fmt::Debug for SendRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SendRing").finish_non_exhaustive()
    }
}

impl SendRing {
    /// Makes a ring for up to `most` sends at a time, 1 to 4096.
    ///
    /// # Errors
    ///
    /// If the kernel has no `io_uring` or does not allow it.
    pub fn new(most: u32) -> io::Result<Self> {
        let most = most.clamp(1, 4096);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(most)
            // the two flags require Linux 6.0 and 6.1
            .or_else(|_| IoUring::new(most))?;
        let mut ring = Self {
            ring,
            sent: Vec::new(),
            broken: false,
        };
        ring.probe()?;
        Ok(ring)
    }

    /// Sends each buffer to its socket, without waiting for room and without `SIGPIPE`. The results have the
    /// order of the sends.
    ///
    /// # Errors
    ///
    /// The ring cannot be used any more. [`so_far`](Self::so_far) returns the results of the sends made before.
    /// [`so_far`](Self::so_far).
    pub fn send_each<'a>(
        &mut self,
        sends: impl IntoIterator<Item = (BorrowedFd<'a>, &'a [u8])>,
    ) -> io::Result<&[Sent]> {
        self.sent.clear();
        if self.broken {
            return Err(io::Error::other("the ring is broken"));
        }
        self.broken = true;
        self.send_all(sends.into_iter())?;
        self.broken = false;
        Ok(&self.sent)
    }

    fn send_all<'a>(
        &mut self,
        mut sends: impl Iterator<Item = (BorrowedFd<'a>, &'a [u8])>,
    ) -> io::Result<()> {
        loop {
            let first = self.sent.len();
            let room = self.ring.params().sq_entries();
            let mut pushed = 0;
            for (socket, buffer) in sends.by_ref().take(usize::try_from(room).unwrap_or(1)) {
                self.push(self.sent.len(), socket, buffer)?;
                self.sent.push(Sent::Nothing);
                pushed += 1;
            }
            if pushed == 0 {
                return Ok(());
            }
            self.complete(self.sent.len() - first)?;
        }
    }

    /// The results of the last call, even if it failed.
    pub fn so_far(&self) -> &[Sent] {
        &self.sent
    }

    fn push(&mut self, index: usize, socket: BorrowedFd<'_>, buffer: &[u8]) -> io::Result<()> {
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(types::Fd(socket.as_raw_fd()), buffer.as_ptr(), length)
            .flags(MSG_DONTWAIT | MSG_NOSIGNAL)
            .build()
            .user_data(u64::try_from(index).unwrap_or(u64::MAX));
        // SAFETY: the buffer and the descriptor are borrowed until `send_each` returns. With `MSG_DONTWAIT` the
        // kernel reads the buffer within the submission and never after it, even if taking the results fails; a
        // ring that failed is never submitted again, so entries that were pushed and not submitted are never
        // read.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_| io::Error::other("the submission queue is full"))
    }

    /// Submits the pushed entries and takes all results.
    fn complete(&mut self, count: usize) -> io::Result<()> {
        let mut left = count;
        let mut failures = 0;
        while left > 0 {
            match self.ring.submit_and_wait(left) {
                Ok(_) => failures = 0,
                Err(error) if is_passing(&error) && failures < MOST_FAILURES => failures += 1,
                Err(error) => {
                    // with `MSG_DONTWAIT`, submitted sends have ended within the submission, so only their
                    // results may be missing
                    self.take_answers();
                    return Err(error);
                }
            }
            left -= self.take_answers().min(left);
        }
        Ok(())
    }

    fn take_answers(&mut self) -> usize {
        let Self { ring, sent, .. } = self;
        let mut taken = 0;
        for answer in ring.completion() {
            taken += 1;
            let index = usize::try_from(answer.user_data()).unwrap_or(usize::MAX);
            if let (Some(place), Ok(count)) =
                (sent.get_mut(index), usize::try_from(answer.result()))
            {
                *place = Sent::Bytes(count);
            }
        }
        taken
    }

    /// Checks whether the kernel supports sends: then it answers a send to an invalid socket with an error
    /// about the socket.
    fn probe(&mut self) -> io::Result<()> {
        let entry = opcode::Send::new(types::Fd(-1), std::ptr::null(), 0)
            .flags(MSG_DONTWAIT | MSG_NOSIGNAL)
            .build();
        // SAFETY: the entry refers to no memory.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_| io::Error::other("the submission queue is full"))?;
        let mut failures = 0;
        while let Err(error) = self.ring.submit_and_wait(1) {
            failures += 1;
            if !is_passing(&error) || failures > MOST_FAILURES {
                return Err(error);
            }
        }
        match self.ring.completion().next().map(|answer| answer.result()) {
            Some(result) if result == -EBADF => Ok(()),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Whether another attempt may succeed.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(EINTR | EAGAIN | EBUSY))
}

/// The most consecutive attempts that may fail with such an error.
const MOST_FAILURES: u32 = 100;

// The values in `<sys/socket.h>` and `<errno.h>`. They are the same on every Linux that Rust supports except
// MIPS and SPARC, for which there is no package.
const MSG_DONTWAIT: i32 = 0x40;
const MSG_NOSIGNAL: i32 = 0x4000;
const EINTR: i32 = 4;
const EBADF: i32 = 9;
const EAGAIN: i32 = 11;
const EBUSY: i32 = 16;
