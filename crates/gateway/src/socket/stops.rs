//! Stops of listeners in progress on one thread: how many of their connections are left. They are counted once when a
//! stop begins, and then updated with each connection that opens or closes, so that waiting costs nothing.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::sync::Notify;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Stops(RefCell<Vec<Rc<Stop>>>);

/// A stop in progress.
#[derive(Debug)]
pub(crate) struct Stop {
    listeners: Vec<u32>,
    left: Cell<usize>,
    nobody_left: Notify,
}

impl Stops {
    /// Begins to count; `left` connections exist now.
    pub(crate) fn begin(&self, listeners: &[u32], left: usize) -> Rc<Stop> {
        let stop = Rc::new(Stop {
            listeners: listeners.to_vec(),
            left: Cell::new(left),
            nobody_left: Notify::new(),
        });
        self.0.borrow_mut().push(Rc::clone(&stop));
        stop
    }

    /// Ends a stop, even if connections are left.
    pub(crate) fn end(&self, stop: &Rc<Stop>) {
        let mut stops = self.0.borrow_mut();
        stops.retain(|other| !Rc::ptr_eq(other, stop));
    }

    /// Counts a connection of this listener that opened during the stop.
    pub(crate) fn came(&self, listener: u32) {
        self.each(listener, |stop| stop.left.set(stop.left.get() + 1));
    }

    /// Counts a connection of this listener that is gone.
    pub(crate) fn left(&self, listener: u32) {
        self.each(listener, |stop| {
            let left = stop.left.get().saturating_sub(1);
            stop.left.set(left);
            if left == 0 {
                stop.nobody_left.notify_one();
            }
        });
    }

    fn each(&self, listener: u32, count: impl Fn(&Stop)) {
        // there is no stop nearly always
        for stop in &*self.0.borrow() {
            if stop.listeners.contains(&listener) {
                count(stop);
            }
        }
    }
}

impl Stop {
    /// Waits until no connection is left.
    pub(crate) async fn nobody_left(&self) {
        while self.left.get() > 0 {
            self.nobody_left.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn is_over(stop: &Stop) -> bool {
        let waiting = pin!(stop.nobody_left());
        waiting.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn a_connection_that_opens_during_a_stop_is_waited_for() {
        let stops = Stops::default();
        let stop = stops.begin(&[1, 2], 1);
        stops.came(2);
        stops.left(1);
        assert!(!is_over(&stop));
        stops.left(2);
        assert!(is_over(&stop));
    }

    #[test]
    fn stops_count_their_own_listeners() {
        let stops = Stops::default();
        let (first, second) = (stops.begin(&[1], 1), stops.begin(&[2, 1], 2));
        stops.left(3);
        stops.left(1);
        assert!(is_over(&first) && !is_over(&second));
        stops.end(&first);
        // connections are not counted for a stop that has ended
        stops.came(1);
        assert!(is_over(&first));
        stops.left(1);
        stops.left(2);
        assert!(is_over(&second));
    }
}
