//! The readiness loop over `epoll` or `kqueue`. Its descriptor is one of those that the thread's runtime watches.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::task::Context;

use millrace_sockets::Selector;
use mio::{Events, Token};

use crate::net::polled::Polled;
use crate::net::stream::Stream;
use crate::socket::connection::Connection;

/// The sockets that the loop watches.
pub(in crate::shard) struct Readiness {
    /// `None` without a runtime: then nothing is watched.
    selector: Option<RefCell<Selector>>,
    events: RefCell<Events>,
    /// Whether events may wait that the runtime does not report.
    more: Cell<bool>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").finish_non_exhaustive()
    }
}

impl Readiness {
    /// Watches nothing.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(in crate::shard) fn none() -> Self {
        Self {
            selector: None,
            events: RefCell::new(Events::with_capacity(0)),
            more: Cell::new(false),
        }
    }

    /// Made within the thread's runtime.
    pub(in crate::shard) fn new() -> io::Result<Self> {
        Ok(Self {
            selector: Some(RefCell::new(Selector::new()?)),
            events: RefCell::new(Events::with_capacity(EVENTS)),
            more: Cell::new(false),
        })
    }

    /// Has the loop watch a stream, if it can: a plain socket that is not read by somebody else.
    pub(in crate::shard) fn watch(&self, stream: Stream, token: usize) -> io::Result<Stream> {
        let Some(selector) = &self.selector else {
            return Ok(stream);
        };
        if !matches!(stream, Stream::Tcp(_) | Stream::Unix(_)) {
            return Ok(stream);
        }
        let raw = stream.into_raw()?;
        let polled = Polled::register(raw, selector.borrow().registry(), Token(token))?;
        Ok(Stream::Polled(polled))
    }

    /// Whether events may wait that the runtime does not report.
    pub(in crate::shard) fn expects_more(&self) -> bool {
        self.more.get()
    }

    /// Has the next round take events, whatever the runtime reports.
    pub(in crate::shard) fn expect_more(&self) {
        self.more.set(true);
    }

    /// Whether the runtime reports events. If not, the task of this context is woken for the next one.
    pub(in crate::shard) fn has_news(&self, cx: &mut Context<'_>) -> bool {
        let selector = self.selector.as_ref();
        selector.is_some_and(|selector| selector.borrow().has_news(cx))
    }

    /// Takes the events that wait, and calls `run` with the token of each and with what records the event in its
    /// connection.
    pub(in crate::shard) fn take(&self, mut run: impl FnMut(usize, &dyn Fn(&Connection))) {
        let Some(selector) = self.selector.as_ref().filter(|_| self.more.take()) else {
            return;
        };
        let mut events = self.events.borrow_mut();
        if selector.borrow_mut().take(&mut events).is_err() {
            // interrupted by a signal
            return self.more.set(true);
        }
        let mut count = 0;
        for event in events.iter() {
            count += 1;
            run(event.token().0, &|connection| {
                if let Some(Stream::Polled(stream)) = &mut connection.io.borrow_mut().stream {
                    stream.reported(event);
                }
            });
        }
        self.more.set(count == EVENTS);
    }
}

/// The most events of one round.
const EVENTS: usize = 256;
