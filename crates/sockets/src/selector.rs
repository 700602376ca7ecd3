//! Watches many sockets by one descriptor (`epoll`, `kqueue`), which the runtime of the thread watches in turn: the
//! thread sleeps in the runtime, and sockets cost it neither a task nor a registration. Owns the descriptor; knows
//! nothing of what it watches.
#![expect(unsafe_code, reason = "the runtime gets a descriptor by its number")]

use std::fmt;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use mio::{Events, Registry};
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};

/// See the module. Must be used within the runtime in which it was made.
pub struct Selector {
    poll: AsyncFd<mio::Poll>,
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").finish_non_exhaustive()
    }
}

impl Selector {
    /// Makes a selector that watches nothing. Must be called within a runtime of tokio that has I/O enabled.
    ///
    /// # Errors
    ///
    /// If the process has no descriptor left, or the runtime cannot watch another one.
    pub fn new() -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        // SAFETY: `mio::Poll` owns its descriptor until it is dropped, which `AsyncFd` does after its registration, and it
        // always returns the same one.
        let poll = unsafe { AsyncFd::register_with_interest(poll, Interest::READABLE) }?;
        Ok(Self { poll })
    }

    /// Where sockets are registered, with tokens of the caller's choice.
    pub fn registry(&self) -> &Registry {
        self.poll.get_ref().registry()
    }

    /// Whether events have come since the last call. If not, the task of this context is woken when one comes. After
    /// `true`, the caller takes events until there are none, because only later ones are reported again.
    pub fn has_news(&self, cx: &mut Context<'_>) -> bool {
        match self.poll.poll_read_ready(cx) {
            Poll::Ready(Ok(mut ready)) => {
                // before events are taken, so that later ones are reported again
                ready.clear_ready_matching(Ready::READABLE);
                true
            }
            // the runtime ends
            Poll::Ready(Err(_)) | Poll::Pending => false,
        }
    }

    /// Takes the events that wait, without waiting for others: if they fill `events`, there may be more.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Interrupted`] by a signal; the events still wait.
    pub fn take(&mut self, events: &mut Events) -> io::Result<()> {
        self.poll.get_mut().poll(events, Some(Duration::ZERO))
    }
}
