//! The transfers of one connection: the credit of each, and who waits for it. Makes sure that the worker is told of
//! their end. Knows nothing of their contents.

use crate::event::{FIRST_CREDIT, TransferId};

/// See the module. There may be thousands. They are ordered by their ids, which only increase.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    all: Vec<Body>,
    /// The number of transfers that input waits for.
    stalled: usize,
}

/// One transfer.
#[derive(Debug)]
struct Body {
    id: TransferId,
    /// Bytes that the worker has room for; negative: bytes that it was sent beyond its room.
    credit: i64,
    /// Whether input waits until the worker has room for more.
    stalls: bool,
    /// Whether the worker was sent a piece, but not the last one.
    begun: bool,
    /// Whether the worker has to be told when the outbox has room.
    wants_room: bool,
}

impl Bodies {
    pub(super) fn open(&mut self, id: TransferId) {
        self.all.push(Body {
            id,
            credit: signed(FIRST_CREDIT),
            stalls: false,
            begun: false,
            wants_room: false,
        });
    }

    /// Charges a piece for the worker. Returns whether the worker has room for more; `None`: there is no such transfer.
    pub(super) fn spend(&mut self, id: TransferId, bytes: usize, last: bool) -> Option<bool> {
        let body = self.find(id)?;
        body.credit = body.credit.saturating_sub(signed(bytes));
        body.begun = !last;
        let stalls = !last && body.credit <= 0;
        let stalled = std::mem::replace(&mut body.stalls, stalls);
        self.stalled = self.stalled + usize::from(stalls) - usize::from(stalled);
        Some(!stalls)
    }

    /// Adds room of the worker. True: input waited for this, and for no other transfer.
    pub(super) fn pull(&mut self, id: TransferId, bytes: u32) -> bool {
        let Some(body) = self.find(id) else {
            return false;
        };
        body.credit = body.credit.saturating_add(i64::from(bytes));
        if !body.stalls || body.credit <= 0 {
            return false;
        }
        body.stalls = false;
        self.stalled -= 1;
        self.stalled == 0
    }

    /// Bytes that the worker has room for; 0 if there is no such transfer.
    pub(super) fn credit(&self, id: TransferId) -> usize {
        let body = self.place(id).ok().and_then(|place| self.all.get(place));
        body.map_or(0, |body| usize::try_from(body.credit).unwrap_or_default())
    }

    /// Whether input waits for the worker's credit.
    pub(super) fn stall(&self) -> bool {
        self.stalled > 0
    }

    /// Records that the worker has to be told when there is room. False: there is no such transfer.
    pub(super) fn await_room(&mut self, id: TransferId) -> bool {
        let body = self.find(id);
        body.is_some_and(|body| {
            body.wants_room = true;
            true
        })
    }

    /// The transfers whose worker has to be told of room, each once.
    pub(super) fn take_awaiting(&mut self) -> impl Iterator<Item = TransferId> {
        let bodies = self.all.iter_mut();
        bodies.filter_map(|body| std::mem::take(&mut body.wants_room).then_some(body.id))
    }

    /// Removes a transfer. Returns whether the worker waits for pieces that will never arrive; `None`: there is no such
    /// transfer.
    pub(super) fn close(&mut self, id: TransferId) -> Option<bool> {
        let body = self.all.remove(self.place(id).ok()?);
        self.stalled -= usize::from(body.stalls);
        Some(body.begun)
    }

    /// Removes the transfers of which the worker was sent a piece, but not the last one.
    pub(super) fn take_begun(&mut self) -> Vec<TransferId> {
        let begun = |body: &Body| body.begun;
        let ids = self.all.iter().filter(|body| begun(body));
        let ids: Vec<_> = ids.map(|body| body.id).collect();
        for id in &ids {
            self.close(*id);
        }
        ids
    }

    /// The ids of all remaining transfers.
    pub(super) fn into_ids(self) -> impl Iterator<Item = TransferId> {
        self.all.into_iter().map(|body| body.id)
    }

    /// Whether there is such a transfer.
    pub(super) fn has(&self, id: TransferId) -> bool {
        self.place(id).is_ok()
    }

    fn find(&mut self, id: TransferId) -> Option<&mut Body> {
        let place = self.place(id).ok()?;
        self.all.get_mut(place)
    }

    fn place(&self, id: TransferId) -> Result<usize, usize> {
        self.all
            .binary_search_by_key(&id.get(), |body| body.id.get())
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (Bodies, [TransferId; 2]) {
        let ids = [64, 128].map(TransferId::new);
        let mut bodies = Bodies::default();
        for id in ids {
            bodies.open(id);
        }
        (bodies, ids)
    }

    #[test]
    fn bytes_sent_beyond_the_credit_reduce_the_next_credit() {
        let (mut bodies, [id, _]) = two();
        assert_eq!(bodies.spend(id, FIRST_CREDIT + 10, false), Some(false));
        assert!(!bodies.pull(id, 10), "the credit is used up");
        assert!(bodies.stall());
        assert!(bodies.pull(id, 1));
        assert!(!bodies.stall());
        assert_eq!(bodies.spend(id, 1, false), Some(false));
    }

    #[test]
    fn input_waits_for_all_transfers() {
        let (mut bodies, [one, other]) = two();
        for id in [one, other] {
            assert_eq!(bodies.spend(id, FIRST_CREDIT, false), Some(false));
        }
        assert!(!bodies.pull(one, 5));
        assert!(bodies.pull(other, 5));
        assert!(!bodies.pull(other, 5), "input no longer waits");
    }

    #[test]
    fn a_last_piece_waits_for_nothing() {
        let (mut bodies, [id, other]) = two();
        assert_eq!(bodies.spend(id, usize::MAX, true), Some(true));
        assert_eq!(bodies.close(id), Some(false), "the body was complete");
        assert_eq!(bodies.spend(id, 1, false), None);
        assert_eq!(bodies.spend(other, 1, false), Some(true));
        assert_eq!(bodies.close(other), Some(true), "the body was not complete");
    }

    #[test]
    fn the_credit_is_the_room_of_the_worker() {
        let (mut bodies, [id, other]) = two();
        assert_eq!(bodies.credit(id), FIRST_CREDIT);
        assert_eq!(bodies.spend(id, FIRST_CREDIT + 10, false), Some(false));
        assert_eq!((bodies.credit(id), bodies.credit(other)), (0, FIRST_CREDIT));
        bodies.pull(id, 15);
        assert_eq!(bodies.credit(id), 5);
        assert_eq!(
            bodies.credit(TransferId::new(1)),
            0,
            "there is no such transfer"
        );
    }

    #[test]
    fn input_no_longer_waits_for_one_that_is_closed() {
        let (mut bodies, [id, other]) = two();
        assert_eq!(bodies.spend(id, FIRST_CREDIT, false), Some(false));
        assert_eq!(
            bodies.spend(id, 1, false),
            Some(false),
            "the transfer still exists"
        );
        assert_eq!(bodies.close(id), Some(true));
        assert!(!bodies.stall());
        assert_eq!(
            bodies.spend(other, 1, false),
            Some(true),
            "the transfer is still found"
        );
    }

    #[test]
    fn the_worker_is_told_of_room_once() {
        let (mut bodies, [id, _]) = two();
        assert!(bodies.await_room(id));
        assert_eq!(bodies.take_awaiting().collect::<Vec<_>>(), [id]);
        assert_eq!(bodies.take_awaiting().count(), 0);
        assert!(!bodies.await_room(TransferId::new(1)));
    }
}
