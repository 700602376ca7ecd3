//! `io_uring` for servers: connections accepted and data received by requests that stay (multishot), into buffers that
//! the kernel chooses from those provided, and sends that are submitted together with the next wait.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::{IoUring, cqueue, opcode, squeue, types};

/// See the module. Must be used on the thread that made it.
pub struct Ring {
    uring: IoUring,
    buffers: Buffers,
    /// What is being sent, by the number in its request. It stays where it is until the kernel is done with it.
    sending: Vec<Vec<u8>>,
    free: Vec<usize>,
}

/// What the kernel has done.
#[derive(Debug)]
pub enum Done {
    /// A connection.
    Accepted(OwnedFd),
    /// Data for a token.
    Received {
        /// That of [`Ring::receive`].
        token: u32,
        /// The data, given back by [`Ring::give_back`]; `None`: the stream has ended or failed.
        data: Option<Data>,
        /// Whether more will be reported without another [`Ring::receive`].
        goes_on: bool,
    },
    /// A send has ended.
    Sent {
        /// That of [`Ring::send`].
        token: u32,
        /// What was to be sent.
        buffer: Vec<u8>,
        /// How much of it was sent; `None`: the connection has failed.
        count: Option<usize>,
    },
}

/// Received data in a provided buffer.
#[derive(Debug)]
pub struct Data {
    buffer: u16,
    length: usize,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring with provided buffers.
    ///
    /// # Errors
    ///
    /// If the kernel has no `io_uring`, does not allow it, or is older than 6.1.
    #[expect(unsafe_code, reason = "the kernel gets the address of the buffers")]
    pub fn new() -> io::Result<Self> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(REQUESTS * 4)
            .build(REQUESTS)?;
        let mut buffers = Buffers::new();
        // SAFETY: the entries live as long as the ring, whose field is dropped before that of the buffers.
        unsafe {
            let address = address(buffers.entries.as_ptr().addr());
            uring
                .submitter()
                .register_buf_ring_with_flags(address, BUFFERS, GROUP, 0)?;
        }
        for buffer in 0..BUFFERS {
            buffers.provide(buffer);
        }
        Ok(Self {
            uring,
            buffers,
            sending: Vec::new(),
            free: Vec::new(),
        })
    }

    /// Accepts connections from now on.
    pub fn accept(&mut self, listener: impl AsFd) -> io::Result<()> {
        let fd = types::Fd(listener.as_fd().as_raw_fd());
        self.push(&opcode::AcceptMulti::new(fd).build().user_data(ACCEPT))
    }

    /// Receives what arrives from now on.
    pub fn receive(&mut self, socket: impl AsFd, token: u32) -> io::Result<()> {
        let fd = types::Fd(socket.as_fd().as_raw_fd());
        let entry = opcode::RecvMulti::new(fd, GROUP).build();
        self.push(&entry.user_data(RECEIVE | u64::from(token)))
    }

    /// Sends a buffer with the next wait.
    pub fn send(&mut self, socket: impl AsFd, token: u32, buffer: Vec<u8>) -> io::Result<()> {
        let number = self.free.pop().unwrap_or_else(|| {
            self.sending.push(Vec::new());
            self.sending.len() - 1
        });
        let fd = types::Fd(socket.as_fd().as_raw_fd());
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(fd, buffer.as_ptr(), length)
            .flags(libc::MSG_NOSIGNAL)
            .build();
        self.sending[number] = buffer;
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        self.push(&entry.user_data(SEND | number << u32::BITS | u64::from(token)))
    }

    /// Submits what was asked for and waits until something is done.
    pub fn wait(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        match self.uring.submit_and_wait(1) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        };
        let (sending, free) = (&mut self.sending, &mut self.free);
        for entry in self.uring.completion() {
            done.push(outcome(&entry, sending, free)?);
        }
        Ok(())
    }

    /// The data in its buffer.
    pub fn data(&mut self, data: &Data) -> &mut [u8] {
        let start = usize::from(data.buffer) * BUFFER_BYTES;
        &mut self.buffers.memory[start..start + data.length]
    }

    /// Lets the kernel use the buffer again.
    pub fn give_back(&mut self, data: &Data) {
        self.buffers.provide(data.buffer);
    }

    #[expect(unsafe_code, reason = "the kernel gets the addresses of buffers")]
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: what is sent stays in `sending` until its result is there; the other requests have no address.
        while unsafe { self.uring.submission().push(entry) }.is_err() {
            self.uring.submit()?;
        }
        Ok(())
    }
}

#[expect(unsafe_code, reason = "a new descriptor gets an owner")]
fn outcome(
    entry: &cqueue::Entry,
    sending: &mut [Vec<u8>],
    free: &mut Vec<usize>,
) -> io::Result<Done> {
    let (data, result) = (entry.user_data(), entry.result());
    let token = u32::try_from(data & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    let count = usize::try_from(result).ok();
    Ok(match data & KIND {
        ACCEPT if result < 0 => return Err(io::Error::from_raw_os_error(-result)),
        // SAFETY: the kernel has just made the descriptor for this result, and nothing else owns it.
        ACCEPT => Done::Accepted(unsafe { OwnedFd::from_raw_fd(result) }),
        RECEIVE => {
            let chosen = cqueue::buffer_select(entry.flags());
            let filled = count.filter(|length| *length > 0).zip(chosen);
            let starved = result == -libc::ENOBUFS;
            let data = filled.map(|(length, buffer)| Data { buffer, length });
            Done::Received {
                token,
                data: if starved { Some(NOTHING) } else { data },
                goes_on: cqueue::more(entry.flags()),
            }
        }
        _ => {
            let number = usize::try_from((data & !KIND) >> u32::BITS).unwrap_or(usize::MAX);
            free.push(number);
            let buffer = std::mem::take(&mut sending[number]);
            Done::Sent {
                token,
                buffer,
                count,
            }
        }
    })
}

impl Data {
    /// Whether all provided buffers were in use, so that nothing was received.
    pub fn is_nothing(&self) -> bool {
        self.buffer == NOTHING.buffer
    }
}

/// The provided buffers, and the ring by which the kernel learns which are free.
struct Buffers {
    entries: NonNull<BufRingEntry>,
    memory: Vec<u8>,
    tail: u16,
}

impl Buffers {
    #[expect(unsafe_code, reason = "the kernel requires whole pages")]
    fn new() -> Self {
        let layout = layout();
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(layout) };
        Self {
            entries: NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout)),
            memory: vec![0; usize::from(BUFFERS) * BUFFER_BYTES],
            tail: 0,
        }
    }

    #[expect(unsafe_code, reason = "the kernel reads the entries")]
    fn provide(&mut self, buffer: u16) {
        let start = usize::from(buffer) * BUFFER_BYTES;
        let address = address(self.memory[start..].as_ptr().addr());
        let index = usize::from(self.tail % BUFFERS);
        // SAFETY: there are `BUFFERS` zeroed entries, which only this thread writes. The kernel reads an entry after
        // the tail, which is published behind it.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(index);
            entry.set_addr(address);
            entry.set_len(u32::try_from(BUFFER_BYTES).unwrap_or(u32::MAX));
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    #[expect(unsafe_code, reason = "made by the allocator")]
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.entries.as_ptr().cast(), layout()) }
    }
}

fn address(address: usize) -> u64 {
    u64::try_from(address).unwrap_or(u64::MAX)
}

fn layout() -> Layout {
    let bytes = usize::from(BUFFERS) * size_of::<BufRingEntry>();
    Layout::from_size_align(bytes, PAGE).expect("a page is a power of two")
}

const REQUESTS: u32 = 4096;
const PAGE: usize = 4096;
/// The provided buffers, a power of two. Together they fit into the second-level cache.
const BUFFERS: u16 = 128;
const BUFFER_BYTES: usize = 4096;
const GROUP: u16 = 0;

const KIND: u64 = 3 << 62;
const ACCEPT: u64 = 1 << 62;
const RECEIVE: u64 = 2 << 62;
const SEND: u64 = 3 << 62;

const NOTHING: Data = Data {
    buffer: u16::MAX,
    length: 0,
};
