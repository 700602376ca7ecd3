//! Whether publishers that can wait should wait, because the send queue is long. Owns the thresholds; knows no
//! time.

use std::sync::atomic::Ordering;

use super::{Inner, Outlet};
use crate::config::BackplaneFull;

/// The pressure of the send queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// No publisher waits.
    #[default]
    Low,
    /// The queue is long and publishers wait. The number identifies this period of waiting.
    High(u64),
    /// The publishers have waited long enough. The number is `takes` at that moment.
    Endured(u64),
}

impl Outlet {
    /// Whether the send queue is so long that a publisher that can wait should do so before it publishes more.
    /// [`Local::relieved`](crate::Local::relieved) tells when that ends.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited.load(Ordering::SeqCst)
    }

    /// The current pressure.
    pub(crate) fn pressure(&self) -> Pressure {
        self.inner.lock().pressure
    }

    /// Ends the waiting of publishers, however long the queue is.
    pub(crate) fn give_up(&self) {
        let inner = &mut *self.inner.lock();
        inner.pressure = Pressure::Endured(inner.takes);
        self.is_awaited.store(false, Ordering::SeqCst);
    }

    /// Lets publishers wait again, if messages were taken out since they timed out and the queue is still long.
    pub(crate) fn wait_again(&self) {
        let inner = &mut *self.inner.lock();
        if matches!(inner.pressure, Pressure::Endured(takes) if takes != inner.takes) {
            self.await_more(inner);
        }
    }

    /// Updates the pressure after a message was added.
    pub(super) fn press(&self, inner: &mut Inner) {
        if inner.pressure == Pressure::Low
            && inner.bounds.full == BackplaneFull::Wait
            && (inner.queue.len() > part(inner.bounds.queue_messages, HIGH)
                || inner.bytes > part(inner.bounds.queue_bytes, HIGH))
        {
            self.await_more(inner);
        }
    }

    /// Updates the pressure after messages were taken out. Returns whether waiting publishers can continue.
    pub(super) fn relax(&self, inner: &mut Inner) -> bool {
        if inner.pressure == Pressure::Low
            || inner.queue.len() > part(inner.bounds.queue_messages, LOW)
            || inner.bytes > part(inner.bounds.queue_bytes, LOW)
        {
            return false;
        }
        inner.pressure = Pressure::Low;
        self.is_awaited.swap(false, Ordering::SeqCst)
    }

    fn await_more(&self, inner: &mut Inner) {
        inner.waits += 1;
        inner.pressure = Pressure::High(inner.waits);
        self.is_awaited.store(true, Ordering::SeqCst);
    }
}

fn part(bound: usize, parts: usize) -> usize {
    bound / PARTS * parts + bound % PARTS * parts / PARTS
}

/// The thresholds in parts of a limit: publishers begin to wait above `HIGH` parts of `PARTS` and continue when
/// the queue is no longer above `LOW` parts. Messages that are on their way to the queue when publishers begin to wait
/// still fit, and publishers that continue have room.
const PARTS: usize = 32;
const HIGH: usize = 8;
const LOW: usize = 7;

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use bytes::Bytes;
    use millrace_core::Kind;

    use super::*;
    use crate::config::Bounds;

    fn outlet(queue_messages: usize, queue_bytes: usize, full: BackplaneFull) -> Outlet {
        let outlet = Outlet::new();
        outlet.begin(Bounds {
            queue_messages,
            queue_bytes,
            message_bytes: 1000,
            full,
        });
        outlet.open();
        outlet
    }

    fn add(outlet: &Outlet, count: usize) {
        for _ in 0..count {
            outlet.publish(false, b"room", Kind::Text, Bytes::from_static(b"hello"));
        }
    }

    fn take(outlet: &Outlet, count: usize) -> bool {
        outlet.take(count, usize::MAX, &mut VecDeque::new())
    }

    #[test]
    fn publishers_wait_above_a_quarter_until_the_queue_is_shorter() {
        let outlet = outlet(320, 1_000_000, BackplaneFull::Wait);
        add(&outlet, 80);
        assert!(!outlet.is_awaited());
        add(&outlet, 1);
        assert_eq!(outlet.pressure(), Pressure::High(1));
        assert!(outlet.is_awaited());
        assert!(!take(&outlet, 10), "the queue is still above the threshold");
        assert!(take(&outlet, 1));
        assert!(!outlet.is_awaited() && !take(&outlet, 1));
        add(&outlet, 20);
        assert_eq!(outlet.pressure(), Pressure::High(2));
        assert_eq!(outlet.backlog().waits, 2);
        outlet.close();
        assert!(!outlet.is_awaited());
        add(&outlet, 1000);
        assert!(!outlet.is_awaited(), "nothing would end their waiting");
        assert_eq!(outlet.backlog().messages, 0);
    }

    #[test]
    fn bytes_count_too_and_a_tiny_queue_is_not_waited_for_when_empty() {
        let bytes = outlet(1000, 3200, BackplaneFull::Wait);
        add(&bytes, 10);
        assert!(!bytes.is_awaited());
        add(&bytes, 1);
        assert!(bytes.is_awaited(), "each message counts 73 bytes");
        let tiny = outlet(1, 1, BackplaneFull::Wait);
        add(&tiny, 1);
        assert!(tiny.is_awaited());
        assert!(take(&tiny, 1));
    }

    #[test]
    fn publishers_that_timed_out_wait_again_when_the_link_takes_messages() {
        let outlet = outlet(320, 1_000_000, BackplaneFull::Wait);
        add(&outlet, 400);
        outlet.give_up();
        assert!(!outlet.is_awaited());
        add(&outlet, 1);
        outlet.wait_again();
        assert!(!outlet.is_awaited(), "nothing was taken out");
        assert!(!take(&outlet, 1));
        outlet.wait_again();
        assert_eq!(outlet.pressure(), Pressure::High(2));
        outlet.give_up();
        assert!(!take(&outlet, 300), "no publisher has waited");
        assert_eq!(outlet.pressure(), Pressure::Low);
    }

    #[test]
    fn publishers_do_not_wait_if_the_option_is_drop() {
        let outlet = outlet(320, 1_000_000, BackplaneFull::Drop);
        add(&outlet, 400);
        assert!(!outlet.is_awaited());
        assert_eq!(outlet.backlog().dropped, 80);
    }
}
