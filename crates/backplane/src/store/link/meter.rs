//! Counts what a server sends. Ensures that a value without end cannot take all memory, that reading lets others work, and
//! that nothing of a lost link is sent later.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Connection;

/// The counters of a link.
#[derive(Debug)]
pub(super) struct Meter {
    /// What may still be read before the link looks at what has come.
    left: AtomicUsize,
    /// What was read since the last complete value.
    unparsed: AtomicUsize,
    /// Above this, the connection fails.
    most_unparsed: usize,
    /// Everything that was read; it may wrap.
    total: AtomicUsize,
    /// Whether the connection is closed without what is not sent yet.
    is_cut: AtomicBool,
}

impl Meter {
    /// `longest` is the most bytes of a value.
    pub(super) fn new(longest: usize) -> Self {
        Self {
            left: AtomicUsize::new(AT_ONCE),
            unparsed: AtomicUsize::new(0),
            most_unparsed: longest.saturating_add(2 * AT_ONCE),
            total: AtomicUsize::new(0),
            is_cut: AtomicBool::new(false),
        }
    }

    /// Lets the connection be closed without what is not sent yet: the library owns it.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    /// Allows reading again.
    pub(super) fn refill(&self) {
        self.left.store(AT_ONCE, Ordering::Relaxed);
    }

    /// A value was complete.
    pub(super) fn parsed(&self) {
        self.unparsed.store(0, Ordering::Relaxed);
    }

    /// Changes whenever something was read.
    pub(super) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: usize) {
        let left = self.left.load(Ordering::Relaxed);
        self.left
            .store(left.saturating_sub(bytes), Ordering::Relaxed);
        self.unparsed.fetch_add(bytes, Ordering::Relaxed);
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A connection that is counted.
pub(super) struct Metered {
    stream: Box<dyn Connection>,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) fn new(stream: Box<dyn Connection>, meter: &Arc<Meter>) -> Self {
        Self {
            stream,
            meter: Arc::clone(meter),
        }
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        if self.meter.is_cut.load(Ordering::Relaxed) {
            self.stream.drop_unsent();
        }
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.meter.unparsed.load(Ordering::Relaxed) > self.meter.most_unparsed {
            return Poll::Ready(Err(io::Error::other("a value is too long")));
        }
        if self.meter.left.load(Ordering::Relaxed) == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.meter.count(buf.filled().len() - before);
        outcome
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// How much is read before what has come is looked at.
const AT_ONCE: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    impl Connection for tokio::io::Join<tokio::io::Repeat, tokio::io::Sink> {
        fn drop_unsent(&self) {}
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(test)
    }

    /// Reads of a stream without end as much as it gives at once.
    async fn read(metered: &mut Metered) -> io::Result<usize> {
        let mut buffer = vec![0; AT_ONCE / 2];
        let mut total = 0;
        loop {
            let mut part = ReadBuf::new(&mut buffer);
            let read = std::future::poll_fn(|cx| {
                Poll::Ready(Pin::new(&mut *metered).poll_read(cx, &mut part))
            });
            match read.await {
                Poll::Ready(outcome) => outcome?,
                Poll::Pending => return Ok(total),
            }
            total += part.filled().len();
        }
    }

    #[test]
    fn reading_stops_after_a_while_and_a_value_without_end_fails() {
        let meter = Arc::new(Meter::new(AT_ONCE));
        let endless = tokio::io::join(tokio::io::repeat(b'x'), tokio::io::sink());
        let mut metered = Metered::new(Box::new(endless), &meter);
        run(async {
            for _ in 0..10 {
                assert_eq!(read(&mut metered).await.unwrap(), AT_ONCE);
                meter.refill();
                meter.parsed();
            }
            let mut total = 0;
            let error = loop {
                match read(&mut metered).await {
                    Ok(read) => total += read,
                    Err(error) => break error,
                }
                meter.refill();
            };
            assert_eq!(error.to_string(), "a value is too long");
            assert!(total <= 5 * AT_ONCE, "{total}");
            assert!(metered.read_u8().await.is_err());
        });
    }
}
