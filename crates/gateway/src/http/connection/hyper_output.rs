//! hyper's output on connections where another writer sends answers, too: earlier output of hyper goes first, and the
//! answer that hyper writes in place of the other writer's is left out.

use std::io::IoSlice;
use std::task::{Context, Poll, Waker};

/// See the module.
#[derive(Debug, Default)]
pub(in crate::http) struct HyperOutput {
    pub(in crate::http) mute: Mute,
    /// Whether hyper may have more to write.
    behind: bool,
    waiting: Option<Waker>,
}

impl HyperOutput {
    /// hyper has started to write.
    pub(super) fn begin(&mut self) {
        self.behind = true;
    }

    /// hyper has written everything.
    pub(super) fn written(&mut self) {
        self.behind = false;
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }

    /// Whether hyper may have more to write.
    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Waits until hyper has written everything.
    pub(in crate::http) fn poll_written(&mut self, cx: &Context<'_>) -> Poll<()> {
        if !self.behind {
            return Poll::Ready(());
        }
        self.waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Leaves out one answer without a body: everything up to the end of its head.
#[derive(Debug, Default)]
pub(in crate::http) struct Mute {
    on: bool,
    /// Bytes of the end of a head that were seen so far.
    seen: usize,
}

impl Mute {
    pub(in crate::http) fn begin(&mut self) {
        *self = Self { on: true, seen: 0 };
    }

    /// The number of bytes to leave out now; `None` if it is off.
    pub(in crate::http) fn take(&mut self, slices: &[IoSlice<'_>]) -> Option<usize> {
        const END: &[u8] = b"\r\n\r\n";
        if !self.on {
            return None;
        }
        let mut taken = 0;
        for &byte in slices.iter().flat_map(|slice| slice.iter()) {
            taken += 1;
            self.seen = if END.get(self.seen) == Some(&byte) {
                self.seen + 1
            } else {
                usize::from(byte == b'\r')
            };
            if self.seen == END.len() {
                self.on = false;
                break;
            }
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_head_is_left_out_in_one_write_or_several() {
        let head = b"HTTP/1.1 404 Not Found\r\na: \r\r\n\r\nHTTP/1.1 200 OK";
        for cut in 0..head.len() {
            let mut mute = Mute::default();
            assert_eq!(mute.take(&[IoSlice::new(head)]), None);
            mute.begin();
            let (first, second) = head.split_at(cut);
            let mut left_out = 0;
            for part in [first, second] {
                let slices = part.chunks(3).map(IoSlice::new).collect::<Vec<_>>();
                left_out += mute.take(&slices).unwrap_or_default();
            }
            assert_eq!(left_out, head.len() - b"HTTP/1.1 200 OK".len(), "{cut}");
        }
    }
}
