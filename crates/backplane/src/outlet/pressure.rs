//! Whether whoever publishes and can wait should, because much waits for the link. Owns the marks; knows no time.

use std::sync::atomic::Ordering;

use super::{Inner, Outlet};
use crate::config::BackplaneFull;

/// How it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// Nobody waits.
    #[default]
    Low,
    /// Much is queued, and publishers wait; the number tells one time from the next.
    High(u64),
    /// They have waited long enough; so often something had been taken out by then.
    Endured(u64),
}

impl Outlet {
    /// Whether so much waits that whoever can wait should, before it publishes more. It ends with
    /// [`Local::relieved`](crate::Local::relieved).
    pub fn is_awaited(&self) -> bool {
        self.is_awaited.load(Ordering::SeqCst)
    }

    /// How it is.
    pub(crate) fn pressure(&self) -> Pressure {
        self.inner.lock().pressure
    }

    /// Nobody waits any more, whatever is queued.
    pub(crate) fn give_up(&self) {
        let inner = &mut *self.inner.lock();
        inner.pressure = Pressure::Endured(inner.takes);
        self.is_awaited.store(false, Ordering::SeqCst);
    }

    /// Publishers wait again, if something was taken out since they gave up, and still much is queued.
    pub(crate) fn wait_again(&self) {
        let inner = &mut *self.inner.lock();
        if matches!(inner.pressure, Pressure::Endured(takes) if takes != inner.takes) {
            self.await_more(inner);
        }
    }

    /// Something was added.
    pub(super) fn press(&self, inner: &mut Inner) {
        if inner.pressure == Pressure::Low
            && inner.bounds.full == BackplaneFull::Wait
            && (inner.queue.len() > part(inner.bounds.queue_messages, HIGH)
                || inner.bytes > part(inner.bounds.queue_bytes, HIGH))
        {
            self.await_more(inner);
        }
    }

    /// Something was taken out; true: publishers have waited for it.
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

/// Of so many parts of a bound, publishers wait above so many, until it is not above so many: what is on its way to the
/// queue when they begin to wait still fits, and whoever is let go has something to do.
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
    fn publishers_wait_above_a_quarter_until_it_is_less() {
        let outlet = outlet(320, 1_000_000, BackplaneFull::Wait);
        add(&outlet, 80);
        assert!(!outlet.is_awaited());
        add(&outlet, 1);
        assert_eq!(outlet.pressure(), Pressure::High(1));
        assert!(outlet.is_awaited());
        assert!(!take(&outlet, 10), "still above");
        assert!(take(&outlet, 1));
        assert!(!outlet.is_awaited() && !take(&outlet, 1));
        add(&outlet, 20);
        assert_eq!(outlet.pressure(), Pressure::High(2));
        assert_eq!(outlet.backlog().waits, 2);
        outlet.close();
        assert!(!outlet.is_awaited());
        add(&outlet, 1000);
        assert!(!outlet.is_awaited(), "nobody would let them go");
        assert_eq!(outlet.backlog().messages, 0);
    }

    #[test]
    fn bytes_count_too_and_a_tiny_queue_is_not_waited_for_when_empty() {
        let bytes = outlet(1000, 3200, BackplaneFull::Wait);
        add(&bytes, 10);
        assert!(!bytes.is_awaited());
        add(&bytes, 1);
        assert!(bytes.is_awaited(), "each is charged 73");
        let tiny = outlet(1, 1, BackplaneFull::Wait);
        add(&tiny, 1);
        assert!(tiny.is_awaited());
        assert!(take(&tiny, 1));
    }

    #[test]
    fn who_has_given_up_waits_again_when_the_link_takes_something() {
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
        assert!(!take(&outlet, 300), "nobody has waited");
        assert_eq!(outlet.pressure(), Pressure::Low);
    }

    #[test]
    fn nobody_waits_where_it_is_not_wanted() {
        let outlet = outlet(320, 1_000_000, BackplaneFull::Drop);
        add(&outlet, 400);
        assert!(!outlet.is_awaited());
        assert_eq!(outlet.backlog().dropped, 80);
    }
}
