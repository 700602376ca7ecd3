//! What the readiness loop of a shard watches: sockets of established connections, which it runs itself, and sockets and
//! listeners of tasks, which it wakes. A task's socket is registered when the task first waits for it: one that finds its
//! request at once and becomes a connection is registered only as that.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker, ready};

use millrace_sockets::Selector;
use mio::event::{Event, Source};
use mio::{Interest, Token};
use slab::Slab;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop;

use super::polled::{Polled, Ready, Socket, at_once};
use super::raw::RawStream;

/// See the module.
pub(crate) struct Watch {
    selector: RefCell<Selector>,
    tasks: RefCell<Slab<Weak<Wakers>>>,
    /// How many descriptors of tasks were registered so far.
    registered: Cell<usize>,
    /// Where tasks read into whose own buffer would have to be filled with zeros first.
    scratch: RefCell<Box<[u8]>>,
}

/// The tasks that wait for one descriptor.
pub(crate) struct Wakers {
    home: Rc<Watch>,
    index: usize,
    /// Distinguishes those that have had the same index.
    number: usize,
    ready: Cell<Ready>,
    is_registered: Cell<bool>,
    reader: Cell<Option<Waker>>,
    writer: Cell<Option<Waker>>,
}

/// A socket that a task reads and writes.
pub(crate) struct Waking {
    socket: Socket,
    wakers: Rc<Wakers>,
}

/// A listening socket that a task accepts on.
pub(crate) struct Accepting {
    listener: Listener,
    wakers: Rc<Wakers>,
}

enum Listener {
    Tcp(mio::net::TcpListener),
    Unix(mio::net::UnixListener),
}

impl Watch {
    /// Must be made within the runtime of the thread.
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        Ok(Rc::new(Self {
            selector: RefCell::new(Selector::new()?),
            tasks: RefCell::default(),
            registered: Cell::new(0),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
        }))
    }

    /// The selector.
    pub(crate) fn selector(&self) -> &RefCell<Selector> {
        &self.selector
    }

    /// A socket for a task.
    pub(crate) fn stream(self: &Rc<Self>, raw: RawStream) -> Waking {
        let wakers = Wakers::new(self);
        // there may be input, until a read finds none
        wakers.ready.set(Ready::unknown());
        let socket = Socket::new(raw);
        Waking { socket, wakers }
    }

    /// A listener on TCP for a task.
    pub(crate) fn listen_tcp(
        self: &Rc<Self>,
        listener: std::net::TcpListener,
    ) -> io::Result<Accepting> {
        let wakers = Wakers::new(self);
        let mut listener = mio::net::TcpListener::from_std(listener);
        let selector = self.selector.borrow();
        listener.register(selector.registry(), wakers.token(), Interest::READABLE)?;
        let listener = Listener::Tcp(listener);
        Ok(Accepting { listener, wakers })
    }

    /// A listener on a unix socket for a task.
    pub(crate) fn listen_unix(
        self: &Rc<Self>,
        listener: std::os::unix::net::UnixListener,
    ) -> io::Result<Accepting> {
        let wakers = Wakers::new(self);
        let mut listener = mio::net::UnixListener::from_std(listener);
        let selector = self.selector.borrow();
        listener.register(selector.registry(), wakers.token(), Interest::READABLE)?;
        let listener = Listener::Unix(listener);
        Ok(Accepting { listener, wakers })
    }

    /// Wakes the tasks that wait for this event. False: it is of a connection.
    pub(crate) fn wake_tasks(&self, event: &Event) -> bool {
        let token = event.token();
        if token.0 & TASKS == 0 {
            return false;
        }
        let index = token.0 & INDEX;
        let wakers = self.tasks.borrow().get(index).and_then(Weak::upgrade);
        // a descriptor that was closed is reported for as long as a child process has it
        if let Some(wakers) = wakers.filter(|wakers| wakers.token() == token) {
            wakers.report(event);
        }
        true
    }
}

impl Wakers {
    fn new(home: &Rc<Watch>) -> Rc<Self> {
        let mut tasks = home.tasks.borrow_mut();
        let entry = tasks.vacant_entry();
        let number = home.registered.get();
        home.registered.set(number.wrapping_add(1));
        let wakers = Rc::new(Self {
            home: Rc::clone(home),
            index: entry.key(),
            number,
            ready: Cell::default(),
            is_registered: Cell::new(false),
            reader: Cell::default(),
            writer: Cell::default(),
        });
        entry.insert(Rc::downgrade(&wakers));
        wakers
    }

    fn token(&self) -> Token {
        let number = (self.number << INDEX.count_ones()) & !TASKS;
        Token(TASKS | number | self.index)
    }

    fn report(&self, event: &Event) {
        let mut ready = self.ready.get();
        ready.report(event);
        self.ready.set(ready);
        if ready.is_readable() {
            wake(&self.reader);
        }
        if event.is_writable() || event.is_error() || ready.is_write_closed() {
            wake(&self.writer);
        }
    }

    /// Has the changes of a socket reported, what is ready now included.
    fn register(&self, socket: &mut Socket) -> io::Result<()> {
        if !self.is_registered.replace(true) {
            socket.register(self.home.selector.borrow().registry(), self.token())?;
        }
        Ok(())
    }

    /// Calls what reads, and has the task woken when there is more. A task that has used up its share of the thread is
    /// woken behind others.
    fn reading<T>(
        &self,
        cx: &mut Context<'_>,
        socket: &mut Socket,
        call: impl FnOnce(&mut Socket, &mut Ready) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let share = ready!(coop::poll_proceed(cx));
        let mut ready = self.ready.get();
        let outcome = call(socket, &mut ready);
        self.ready.set(ready);
        if outcome.is_pending() {
            return self.await_input(cx, socket);
        }
        share.made_progress();
        outcome
    }

    /// Has the task woken when there is input.
    fn await_input<T>(&self, cx: &Context<'_>, socket: &mut Socket) -> Poll<io::Result<T>> {
        self.register(socket)?;
        wait(&self.reader, cx);
        Poll::Pending
    }

    /// Calls what writes, and has the task woken when there is room.
    fn writing<T>(
        &self,
        cx: &mut Context<'_>,
        socket: &mut Socket,
        call: impl FnOnce(&mut Socket) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let share = ready!(coop::poll_proceed(cx));
        let outcome = call(socket);
        if outcome.is_pending() {
            self.register(socket)?;
            wait(&self.writer, cx);
        } else {
            share.made_progress();
        }
        outcome
    }
}

impl Drop for Wakers {
    fn drop(&mut self) {
        self.home.tasks.borrow_mut().try_remove(self.index);
    }
}

fn wake(waiting: &Cell<Option<Waker>>) {
    if let Some(waker) = waiting.take() {
        waker.wake();
    }
}

fn wait(waiting: &Cell<Option<Waker>>, cx: &Context<'_>) {
    let known = waiting.take();
    let known = known.filter(|known| known.will_wake(cx.waker()));
    waiting.set(Some(known.unwrap_or_else(|| cx.waker().clone())));
}

impl Waking {
    /// The socket of an established connection, whose changes and what is ready now are reported with this token.
    pub(crate) fn into_polled(self, token: Token) -> io::Result<Polled> {
        let Self { mut socket, wakers } = self;
        let selector = wakers.home.selector.borrow();
        let registry = selector.registry();
        if !wakers.is_registered.get() {
            return Polled::register(socket, registry, token);
        }
        socket.reregister(registry, token)?;
        let ready = wakers.ready.get();
        Ok(Polled { socket, ready })
    }

    /// The first byte, which stays unread; `None` if it cannot be shown.
    pub(crate) async fn first_byte(&mut self) -> io::Result<Option<u8>> {
        poll_fn(|cx| {
            let Self { socket, wakers } = self;
            wakers.reading(cx, socket, |socket, ready| socket.peek(ready))
        })
        .await
    }

    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self.socket, Socket::Tcp(_))
    }

    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.socket.local_address()
    }

    /// Whether the loop has reported that nothing written would reach the peer.
    pub(crate) fn is_broken(&self) -> bool {
        self.wakers.ready.get().is_write_closed()
    }
}

impl AsFd for Waking {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Accepting {
    /// The next connection, not registered anywhere, with the peer's address (`None` on a unix socket).
    pub(crate) async fn accept(&self) -> io::Result<(RawStream, Option<SocketAddr>)> {
        poll_fn(|cx| {
            let accepted = match &self.listener {
                Listener::Tcp(listener) => ready!(self.accepted(cx, || listener.accept()))
                    .map(|(stream, address)| (RawStream::Tcp(stream.into()), Some(address))),
                Listener::Unix(listener) => ready!(self.accepted(cx, || listener.accept()))
                    .map(|(stream, _)| (RawStream::Unix(stream.into()), None)),
            };
            Poll::Ready(accepted)
        })
        .await
    }

    /// Has connections over TCP reported with their first bytes, where the system can do that, or at once again.
    pub(crate) fn hold_back(&self, holds: bool) {
        if let Listener::Tcp(listener) = &self.listener {
            // where the system cannot do that, they are reported at once
            let _without = millrace_sockets::defer_accept(listener.as_fd(), holds);
        }
    }

    fn accepted<T>(
        &self,
        cx: &mut Context<'_>,
        accept: impl FnMut() -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let share = ready!(coop::poll_proceed(cx));
        let outcome = at_once(accept);
        if outcome.is_pending() {
            wait(&self.wakers.reader, cx);
        } else {
            share.made_progress();
        }
        outcome
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl fmt::Debug for Waking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waking").field(&self.socket).finish()
    }
}

impl AsyncRead for Waking {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, wakers } = self.get_mut();
        if !wakers.ready.get().is_readable() {
            return wakers.await_input(cx, socket);
        }
        if buffer.initialized().len() == buffer.capacity() {
            return wakers.reading(cx, socket, |socket, ready| socket.read(ready, buffer));
        }
        let mut scratch = wakers.home.scratch.borrow_mut();
        let most = buffer.remaining().min(scratch.len());
        let mut whole = ReadBuf::new(scratch.get_mut(..most).unwrap_or_default());
        let outcome = wakers.reading(cx, socket, |socket, ready| socket.read(ready, &mut whole));
        buffer.put_slice(whole.filled());
        outcome
    }
}

impl AsyncWrite for Waking {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { socket, wakers } = self.get_mut();
        wakers.writing(cx, socket, |socket| socket.write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { socket, wakers } = self.get_mut();
        wakers.writing(cx, socket, |socket| socket.write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().socket.shutdown())
    }
}

/// The most that a task reads at once into a buffer that is not filled with zeros.
const SCRATCH_BYTES: usize = 64 * 1024;

/// The bit that tokens of tasks have, and those of connections have not.
const TASKS: usize = 1 << (usize::BITS - 1);

/// The bits of a token that are an index. Those between this and the highest are of the number, where there is room.
const INDEX: usize = if usize::BITS > u32::BITS {
    (1 << (usize::BITS / 2)) - 1
} else {
    TASKS - 1
};

#[cfg(test)]
mod tests;
