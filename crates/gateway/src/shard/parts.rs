//! The state that protocols keep per shard apart from sockets. A part is made when it is first used, and found by its
//! type. The shard calls it when the turn ends, when time has passed, and when workers or listeners end.

use std::any::{Any, TypeId};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::Shard;
use crate::socket::env::{Ahead, Env};

/// See the module. A part implements only the calls that it needs.
pub(crate) trait Part: Any {
    /// Makes the part of a shard.
    fn new(env: &Env) -> Self
    where
        Self: Sized;

    /// The turn has written to its connections and ends. Called only if [`tell_parts`](Shard::tell_parts) was called
    /// since the last time.
    fn turn_ends(&self, _shard: &Shard) {}

    /// Checks its deadlines; false: it has none. Called repeatedly while any part has deadlines, and after
    /// [`arm_timers`](Env::arm_timers).
    fn look(&self, _shard: &Shard) -> bool {
        false
    }

    /// A worker will answer nothing more.
    fn worker_gone(&self, _worker: u32) {}

    /// These listeners stop: ends their idle connections, or with `cuts` all of them, apart from sockets. Returns how
    /// many are left.
    fn stop(&self, _listeners: &[u32], _cuts: bool) -> usize {
        0
    }
}

/// The parts of one shard: a few, in the order in which they were made. None is ever removed.
#[derive(Default)]
pub(super) struct Parts {
    made: [OnceCell<(TypeId, Rc<dyn Part>)>; MOST],
    /// Whether parts have to be called when the turn ends.
    due: Cell<bool>,
}

impl Parts {
    fn get<P: Part>(&self, env: &Env) -> Rc<P> {
        // the types are stored beside the parts, so that the search calls no part
        let known = self.made.iter().map_while(OnceCell::get);
        let mut found = known.filter(|(kind, _)| *kind == TypeId::of::<P>());
        let part: Rc<dyn Any> = match found.next() {
            Some((_, part)) => Rc::<dyn Part>::clone(part),
            None => self.make::<P>(env),
        };
        part.downcast().expect("it was found by its type")
    }

    #[cold]
    fn make<P: Part>(&self, env: &Env) -> Rc<P> {
        let part = Rc::new(P::new(env));
        let kept: Rc<dyn Part> = Rc::<P>::clone(&part);
        let place = self.made.iter().find(|slot| slot.get().is_none());
        let kept = place.map(|place| place.set((TypeId::of::<P>(), kept)).is_ok());
        assert_eq!(
            kept,
            Some(true),
            "there is room for the parts of all protocols"
        );
        part
    }

    fn all(&self) -> impl Iterator<Item = &dyn Part> {
        self.made
            .iter()
            .map_while(|slot| slot.get())
            .map(|(_, part)| &**part)
    }
}

/// More than the number of parts.
const MOST: usize = 8;

impl Shard {
    /// This shard's part of a type.
    pub(crate) fn part<P: Part>(&self) -> Rc<P> {
        self.parts.get(self)
    }

    /// Has the parts called when this turn ends, or the next one.
    #[inline]
    pub(crate) fn tell_parts(&self) {
        self.parts.due.set(true);
    }

    /// The same, soon.
    pub(crate) fn tell_parts_soon(&self) {
        self.tell_parts();
        self.schedule_for(Ahead::Parts);
    }

    #[inline]
    pub(super) fn tell_turn_ends(&self) {
        self.turn_comes_to(Ahead::Events);
        if self.parts.due.replace(false) {
            self.end_turn_of_parts();
        }
    }

    #[inline(never)]
    fn end_turn_of_parts(&self) {
        for part in self.parts.all() {
            part.turn_ends(self);
        }
    }

    /// Checks the deadlines of all parts. False: there are none.
    pub(super) fn look_at_parts(&self) -> bool {
        let mut waits = false;
        for part in self.parts.all() {
            waits |= part.look(self);
        }
        waits
    }

    pub(super) fn tell_worker_gone(&self, worker: u32) {
        for part in self.parts.all() {
            part.worker_gone(worker);
        }
    }

    pub(super) fn stop_parts(&self, listeners: &[u32], cuts: bool) -> usize {
        let left = self.parts.all().map(|part| part.stop(listeners, cuts));
        left.sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use millrace_core::ShardIndex;

    use super::*;
    use crate::frame::Encodings;
    use crate::hub::Hub;
    use crate::limits::GatewayLimits;
    use crate::stats::ShardStats;

    struct Told(Cell<u32>);
    struct Other;

    impl Part for Told {
        fn new(_: &Env) -> Self {
            Self(Cell::new(0))
        }

        fn worker_gone(&self, worker: u32) {
            self.0.set(worker);
        }
    }

    impl Part for Other {
        fn new(_: &Env) -> Self {
            Self
        }
    }

    #[test]
    fn a_part_is_made_once_and_found_by_its_type() {
        let hub = Arc::new(Hub::new(Arc::new(Encodings::new())));
        let index = ShardIndex::new(0).unwrap();
        let stats = Arc::new(ShardStats::default());
        let env = Env::new(index, hub, GatewayLimits::default(), stats);
        let parts = Parts::default();
        assert_eq!(parts.all().count(), 0);
        parts.get::<Other>(&env);
        let told = parts.get::<Told>(&env);
        assert!(Rc::ptr_eq(&told, &parts.get::<Told>(&env)));
        parts.get::<Other>(&env);
        assert_eq!(parts.all().count(), 2);
        for part in parts.all() {
            part.worker_gone(7);
        }
        assert_eq!(told.0.get(), 7);
    }
}
