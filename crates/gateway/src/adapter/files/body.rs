//! The body of an answer with a file: read piece by piece, each when the connection has room for it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::task::JoinHandle;

use super::root::{self, Blocking};
use crate::http::BodyError;

/// See the module.
#[derive(Debug)]
pub(super) struct FileBody {
    file: Arc<File>,
    left: Range<u64>,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    /// Pieces that were read at once, without yielding to other connections.
    in_a_row: u32,
}

impl FileBody {
    pub(super) fn new(file: File, range: Range<u64>) -> Self {
        Self {
            file: Arc::new(file),
            left: range,
            reading: None,
            in_a_row: 0,
        }
    }

    /// Reads the next piece; `blocking` says whether it may wait for the disk.
    fn piece(
        file: &File,
        Range { start, end }: Range<u64>,
        blocking: Blocking,
    ) -> io::Result<Bytes> {
        let length = usize::try_from(end - start).map_or(PIECE, |left| left.min(PIECE));
        let mut bytes = vec![0; length];
        let count = root::read_at(file, &mut bytes, start, blocking)?;
        bytes.truncate(count);
        Ok(bytes.into())
    }

    /// Reads on a thread of the blocking pool, beside the event loop.
    fn read(&self) -> JoinHandle<io::Result<Bytes>> {
        let (file, range) = (Arc::clone(&self.file), self.left.clone());
        tokio::task::spawn_blocking(move || Self::piece(&file, range, Blocking::Allowed))
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            // yields, or a fast client would keep the thread to itself
            None if self.in_a_row == TURN => {
                self.in_a_row = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            None => match Self::piece(&self.file, self.left.clone(), Blocking::Never) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.read(),
                read => {
                    self.in_a_row += 1;
                    return Poll::Ready(read);
                }
            },
        };
        match Pin::new(&mut reading).poll(cx) {
            Poll::Ready(read) => Poll::Ready(read.map_err(io::Error::other).and_then(|read| read)),
            Poll::Pending => {
                self.reading = Some(reading);
                Poll::Pending
            }
        }
    }
}

impl HttpBody for FileBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.left.is_empty() {
            return Poll::Ready(None);
        }
        let read = ready!(this.poll_piece(cx));
        Poll::Ready(Some(match read {
            Ok(bytes) if bytes.is_empty() => {
                // the file became shorter, so the announced length cannot be met
                Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
            }
            Ok(bytes) => {
                this.left.start += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                Ok(Frame::data(bytes))
            }
            Err(error) => Err(error.into()),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.end.saturating_sub(self.left.start))
    }
}

/// The most bytes of one read.
const PIECE: usize = 64 * 1024;

/// Pieces of one file that are read before other connections get a turn.
const TURN: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn a_fast_client_yields_to_other_connections() {
        let name = format!("millrace-body-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let whole: Vec<u8> = (0..20 * PIECE).map(|at| at.to_le_bytes()[1]).collect();
        std::fs::write(&path, &whole).expect("a temporary file");
        let mut body = FileBody::new(File::open(&path).expect("the file"), 1..1_300_000);
        std::fs::remove_file(&path).expect("the file");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let _entered = runtime.enter();
        let mut cx = Context::from_waker(Waker::noop());
        let (mut got, mut in_a_row) = (Vec::new(), 0);
        loop {
            match Pin::new(&mut body).poll_frame(&mut cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    got.extend_from_slice(frame.data_ref().expect("data"));
                    in_a_row += 1;
                    assert!(in_a_row <= TURN);
                }
                Poll::Ready(Some(Err(error))) => panic!("{error}"),
                Poll::Ready(None) => break,
                Poll::Pending => {
                    in_a_row = 0;
                    std::thread::yield_now();
                }
            }
        }
        assert_eq!(Some(&got[..]), whole.get(1..1_300_000));
    }
}
