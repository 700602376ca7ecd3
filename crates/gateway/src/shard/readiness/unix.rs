//! The readiness loop over `epoll` or `kqueue`, whose descriptor the thread's runtime watches.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::rc::Rc;
use std::task::Context;

use mio::{Events, Token};

use crate::net::polled::{Polled, Socket};
use crate::net::raw::RawStream;
use crate::net::stream::Stream;
pub(in crate::shard) use crate::net::watch::Accepting;
use crate::net::watch::Watch;
use crate::socket::connection::Connection;

/// What the loop watches.
pub(in crate::shard) struct Readiness {
    /// `None` without a runtime: then nothing is watched.
    watch: Option<Rc<Watch>>,
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
    #[cfg(any(test, feature = "fuzzing"))]
    pub(in crate::shard) fn none() -> Self {
        Self {
            watch: None,
            events: RefCell::new(Events::with_capacity(0)),
            more: Cell::new(false),
        }
    }

    /// Made within the thread's runtime.
    pub(in crate::shard) fn new() -> io::Result<Self> {
        Ok(Self {
            watch: Some(Watch::new()?),
            events: RefCell::new(Events::with_capacity(EVENTS)),
            more: Cell::new(false),
        })
    }

    /// A stream for a task.
    pub(in crate::shard) fn stream(&self, raw: RawStream) -> io::Result<Stream> {
        match &self.watch {
            Some(watch) => Ok(Stream::Waking(Box::new(watch.stream(raw)))),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Accepts connections on TCP.
    pub(in crate::shard) fn listen_tcp(
        &self,
        listener: std::net::TcpListener,
    ) -> io::Result<Accepting> {
        let watch = self.watch.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        watch.listen_tcp(listener)
    }

    /// Accepts connections on a unix socket.
    pub(in crate::shard) fn listen_unix(
        &self,
        listener: std::os::unix::net::UnixListener,
    ) -> io::Result<Accepting> {
        let watch = self.watch.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        watch.listen_unix(listener)
    }

    /// Has the loop run the connection of a stream, if it can: a plain socket.
    pub(in crate::shard) fn establish(&self, stream: Stream, token: usize) -> io::Result<Stream> {
        let Some(watch) = &self.watch else {
            return Ok(stream);
        };
        let token = Token(token);
        Ok(match stream {
            Stream::Waking(stream) => Stream::Polled(stream.into_polled(token)?),
            // the runtime has connected these
            Stream::Tcp(_) | Stream::Unix(_) => {
                let socket = Socket::new(stream.into_raw()?);
                let selector = watch.selector().borrow();
                Stream::Polled(Polled::register(socket, selector.registry(), token)?)
            }
            other => other,
        })
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
        let watch = self.watch.as_ref();
        watch.is_some_and(|watch| watch.selector().borrow().has_news(cx))
    }

    /// Takes the events that wait: wakes tasks, and calls `run` with the token of each connection and with what records
    /// the event in it.
    pub(in crate::shard) fn take(&self, mut run: impl FnMut(usize, &dyn Fn(&Connection))) {
        let Some(watch) = self.watch.as_ref().filter(|_| self.more.take()) else {
            return;
        };
        let mut events = self.events.borrow_mut();
        if watch.selector().borrow_mut().take(&mut events).is_err() {
            // interrupted by a signal
            return self.more.set(true);
        }
        let mut count = 0;
        for event in events.iter() {
            count += 1;
            if watch.wake_tasks(event) {
                continue;
            }
            run(event.token().0, &|connection| {
                if let Some(Stream::Polled(stream)) = &mut connection.io.borrow_mut().stream {
                    stream.report(event);
                }
            });
        }
        self.more.set(count == EVENTS);
    }
}

/// The most events of one round.
const EVENTS: usize = 256;
