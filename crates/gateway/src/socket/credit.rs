//! The events of a connection that its worker has not handled, and how many more the worker may be told.

use crate::limits::GatewayLimits;

/// The unhandled events of a connection.
#[derive(Debug, Default)]
pub(crate) struct Credit {
    /// The newest parcel that contains one of its events.
    parcel: u64,
    events: u32,
    /// At most `u32::MAX`, which is over every limit.
    bytes: u32,
    held_events: u32,
    held_bytes: u32,
}

impl Credit {
    /// Counts one event of `bytes` bytes in this parcel.
    pub(crate) fn spend(&mut self, parcel: u64, bytes: usize) {
        self.parcel = parcel;
        self.events += 1;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Makes everything wait until the worker has handled the newest parcel. False: it has already; `handled` is the
    /// newest parcel that it has handled.
    pub(crate) fn wait(&mut self, handled: u64) -> bool {
        let waits = handled < self.parcel;
        if waits {
            self.bytes = u32::MAX;
        }
        waits
    }

    /// The newest parcel that contains one of its events, if there was any.
    pub(crate) fn newest(&self) -> Option<u64> {
        (self.parcel > 0).then_some(self.parcel)
    }

    /// Whether events wait behind a promise.
    pub(crate) fn is_holding(&self) -> bool {
        self.held_events > 0
    }

    /// Whether another event may be taken from the wire. `handled` is the newest parcel that the worker has handled.
    pub(crate) fn has_room(&mut self, handled: u64, limits: &GatewayLimits) -> bool {
        if handled >= self.parcel {
            (self.events, self.bytes) = (0, 0);
        }
        !self.is_spent(limits)
    }

    /// Whether a limit is reached, without checking what the worker has handled meanwhile.
    pub(crate) fn is_spent(&self, limits: &GatewayLimits) -> bool {
        let most_bytes = u32::try_from(limits.unhandled_bytes.max(1)).unwrap_or(u32::MAX);
        self.events.saturating_add(self.held_events) >= limits.unhandled_events.max(1)
            || self.bytes.saturating_add(self.held_bytes) >= most_bytes
    }

    /// Events wait behind a promise.
    pub(crate) fn hold(&mut self, events: u32, bytes: u32) {
        self.held_events = self.held_events.saturating_add(events);
        self.held_bytes = self.held_bytes.saturating_add(bytes);
    }

    /// Events that waited behind a promise are handled.
    pub(crate) fn release(&mut self, events: u32, bytes: u32) {
        self.held_events = self.held_events.saturating_sub(events);
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_comes_back_when_its_last_parcel_is_handled() {
        let limits = GatewayLimits {
            unhandled_events: 2,
            ..GatewayLimits::default()
        };
        let mut credit = Credit::default();
        credit.spend(5, 10);
        assert!(credit.has_room(4, &limits));
        credit.spend(6, 10);
        assert!(credit.is_spent(&limits));
        assert!(
            !credit.has_room(5, &limits),
            "an earlier parcel alone returns no credit"
        );
        assert!(credit.has_room(6, &limits));
    }

    #[test]
    fn waiting_ends_when_the_newest_parcel_is_handled() {
        let limits = GatewayLimits::default();
        let mut credit = Credit::default();
        assert!(!credit.wait(0));
        credit.spend(5, 10);
        assert!(credit.wait(4));
        credit.spend(6, 10);
        assert!(!credit.has_room(5, &limits));
        assert!(credit.has_room(6, &limits));
        assert!(!credit.wait(6));
    }

    #[test]
    fn held_events_count_until_they_are_released() {
        let limits = GatewayLimits {
            unhandled_events: 2,
            ..GatewayLimits::default()
        };
        let mut credit = Credit::default();
        credit.spend(1, 10);
        credit.spend(1, 10);
        credit.hold(2, 20);
        assert!(!credit.has_room(1, &limits));
        credit.release(1, 10);
        assert!(credit.has_room(1, &limits));
    }

    #[test]
    fn bytes_are_bounded_and_one_message_fits() {
        let limits = GatewayLimits {
            unhandled_bytes: 100,
            ..GatewayLimits::default()
        };
        let mut credit = Credit::default();
        assert!(credit.has_room(0, &limits));
        credit.spend(1, 1_000_000);
        assert!(!credit.has_room(0, &limits));
        assert!(credit.has_room(1, &limits));
    }
}
