//! The transfers of one connection: how much more of each the worker takes, and who waits for it. Sees to it that the worker
//! hears of their end. Knows nothing of what they carry.

use crate::event::{FIRST_CREDIT, TransferId};

/// See the module. There may be thousands: they lie in the order of their ids, which only grow.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    all: Vec<Body>,
    /// How many of them input waits for.
    stalled: usize,
}

/// One transfer.
#[derive(Debug)]
struct Body {
    id: TransferId,
    /// Bytes that the worker has room for; less than none: those that it was sent beyond that.
    credit: i64,
    /// Input waits for more of it.
    stalls: bool,
    /// Pieces went to the worker, and the last has not.
    begun: bool,
    /// The worker is to be told of room in the outbox.
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

    /// A piece goes to the worker. Whether it has room for more; `None`: there is no such transfer.
    pub(super) fn spend(&mut self, id: TransferId, bytes: usize, last: bool) -> Option<bool> {
        let body = self.find(id)?;
        body.credit = body.credit.saturating_sub(signed(bytes));
        body.begun = !last;
        let stalls = !last && body.credit <= 0;
        let stalled = std::mem::replace(&mut body.stalls, stalls);
        self.stalled = self.stalled + usize::from(stalls) - usize::from(stalled);
        Some(!stalls)
    }

    /// The worker has room for more. True: input waited for that, and for nothing else of these.
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

    /// Bytes that the worker has room for; none: there is no such transfer.
    pub(super) fn credit(&self, id: TransferId) -> usize {
        let body = self.place(id).ok().and_then(|place| self.all.get(place));
        body.map_or(0, |body| usize::try_from(body.credit).unwrap_or_default())
    }

    /// Whether input waits.
    pub(super) fn stall(&self) -> bool {
        self.stalled > 0
    }

    /// The worker is to be told when there is room. False: there is no such transfer.
    pub(super) fn await_room(&mut self, id: TransferId) -> bool {
        let body = self.find(id);
        body.is_some_and(|body| {
            body.wants_room = true;
            true
        })
    }

    /// Those whose worker is to be told of room, each once.
    pub(super) fn take_awaiting(&mut self) -> impl Iterator<Item = TransferId> {
        let bodies = self.all.iter_mut();
        bodies.filter_map(|body| std::mem::take(&mut body.wants_room).then_some(body.id))
    }

    /// Forgets one. Whether the worker waits for pieces that never come; `None`: there is no such transfer.
    pub(super) fn close(&mut self, id: TransferId) -> Option<bool> {
        let body = self.all.remove(self.place(id).ok()?);
        self.stalled -= usize::from(body.stalls);
        Some(body.begun)
    }

    /// All that are left.
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
    fn what_was_sent_beyond_the_credit_is_owed() {
        let (mut bodies, [id, _]) = two();
        assert_eq!(bodies.spend(id, FIRST_CREDIT + 10, false), Some(false));
        assert!(!bodies.pull(id, 10), "nothing is left of it");
        assert!(bodies.stall());
        assert!(bodies.pull(id, 1));
        assert!(!bodies.stall());
        assert_eq!(bodies.spend(id, 1, false), Some(false));
    }

    #[test]
    fn input_waits_for_all_of_them() {
        let (mut bodies, [one, other]) = two();
        for id in [one, other] {
            assert_eq!(bodies.spend(id, FIRST_CREDIT, false), Some(false));
        }
        assert!(!bodies.pull(one, 5));
        assert!(bodies.pull(other, 5));
        assert!(!bodies.pull(other, 5), "nobody waits any more");
    }

    #[test]
    fn a_last_piece_waits_for_nothing() {
        let (mut bodies, [id, other]) = two();
        assert_eq!(bodies.spend(id, usize::MAX, true), Some(true));
        assert_eq!(bodies.close(id), Some(false), "it was complete");
        assert_eq!(bodies.spend(id, 1, false), None);
        assert_eq!(bodies.spend(other, 1, false), Some(true));
        assert_eq!(bodies.close(other), Some(true), "it was not");
    }

    #[test]
    fn whoever_asks_is_told_what_there_is_room_for() {
        let (mut bodies, [id, other]) = two();
        assert_eq!(bodies.credit(id), FIRST_CREDIT);
        assert_eq!(bodies.spend(id, FIRST_CREDIT + 10, false), Some(false));
        assert_eq!((bodies.credit(id), bodies.credit(other)), (0, FIRST_CREDIT));
        bodies.pull(id, 15);
        assert_eq!(bodies.credit(id), 5);
        assert_eq!(bodies.credit(TransferId::new(1)), 0, "there is none");
    }

    #[test]
    fn input_no_longer_waits_for_one_that_is_closed() {
        let (mut bodies, [id, other]) = two();
        assert_eq!(bodies.spend(id, FIRST_CREDIT, false), Some(false));
        assert_eq!(bodies.spend(id, 1, false), Some(false), "it is one still");
        assert_eq!(bodies.close(id), Some(true));
        assert!(!bodies.stall());
        assert_eq!(
            bodies.spend(other, 1, false),
            Some(true),
            "it is found still"
        );
    }

    #[test]
    fn room_is_told_once() {
        let (mut bodies, [id, _]) = two();
        assert!(bodies.await_room(id));
        assert_eq!(bodies.take_awaiting().collect::<Vec<_>>(), [id]);
        assert_eq!(bodies.take_awaiting().count(), 0);
        assert!(!bodies.await_room(TransferId::new(1)));
    }
}
